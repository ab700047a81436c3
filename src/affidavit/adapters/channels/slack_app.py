"""Tells people as a Slack app: one message per incident, updated in place when the incident ends once more.

A plan that waits is told in the message's thread, and shown in the channel: Slack rings for no update.
"""

from dataclasses import dataclass, field
from typing import Any

from affidavit.adapters.channels.http_sender import Sender
from affidavit.adapters.channels.slack_message import slack_message
from affidavit.errors import UpstreamFailed
from affidavit.ports.json import JsonValue
from affidavit.ports.notice_record import Notice
from affidavit.ports.notifier import AskedToWait

# The message is gone or may no longer be edited: then a new one is written.
_GONE = ("message_not_found", "cant_update_message", "edit_window_closed", "channel_not_found", "is_inactive")
_NO_THREAD = ("thread_not_found", "cannot_reply_to_message", "restricted_action_thread_locked")
_HINTS = {
    "invalid_auth": "the bot token is not accepted; install the app again and set SLACK_BOT_TOKEN",
    "token_revoked": "the bot token was revoked; install the app again and set SLACK_BOT_TOKEN",
    "missing_scope": "give the app the scope chat:write and install it again",
    "not_in_channel": "invite the app to the channel: /invite @app",
    "channel_not_found": "set SLACK_CHANNEL to the id of a channel that the app was invited to",
}


@dataclass(frozen=True, kw_only=True)
class SlackAppNotifier:
    """`channel` is a channel's id. A message's name is `channel:timestamp`."""

    sender: Sender
    token: str = field(repr=False)
    channel: str
    api: str = "https://slack.com/api"

    def takes(self, notice: Notice) -> bool:
        return True

    def notify(self, notice: Notice, *, earlier: str) -> str:
        channel, _, stamp = earlier.partition(":")
        if stamp and notice.plan_id:
            return self._replied(notice, channel, stamp)
        if stamp:
            answer = self._call("chat.update", {"channel": channel, "ts": stamp, **slack_message(notice)})
            if answer.get("error") not in _GONE:
                return _named(_accepted(answer))
        return _named(_accepted(self._call("chat.postMessage", {"channel": self.channel, **slack_message(notice)})))

    def _replied(self, notice: Notice, channel: str, stamp: str) -> str:
        """The incident's message keeps its name: what is told next of the incident goes there."""
        thread: dict[str, JsonValue] = {"channel": channel, "thread_ts": stamp, "reply_broadcast": True}
        answer = self._call("chat.postMessage", {**thread, **slack_message(notice)})
        if answer.get("error") in (*_GONE, *_NO_THREAD):
            return self.notify(notice, earlier="")
        _accepted(answer)
        return f"{channel}:{stamp}"

    def _call(self, method: str, body: dict[str, JsonValue]) -> dict[str, Any]:
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json; charset=utf-8"}
        return self.sender.post(f"{self.api}/{method}", body, headers=headers).json()


def _accepted(answer: dict[str, Any]) -> dict[str, Any]:
    """Slack answers 200 and says in the body that it failed."""
    if answer.get("ok") is True:
        return answer
    problem = str(answer.get("error") or "an answer that cannot be read")[:100]
    if problem in ("ratelimited", "rate_limited"):
        raise AskedToWait("Slack asks to slow down", seconds=60)
    raise UpstreamFailed(
        f"Slack refused the message: {problem}",
        hint=_HINTS.get(problem, "see Slack's list of errors of chat.postMessage"),
    )


def _named(answer: dict[str, Any]) -> str:
    return f"{answer.get('channel')}:{answer.get('ts')}"
