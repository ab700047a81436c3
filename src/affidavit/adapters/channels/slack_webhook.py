"""Tells people through a Slack incoming webhook. It names no message, so each end of an incident is a new one."""

from dataclasses import dataclass, field

from affidavit.adapters.channels.http_sender import Sender
from affidavit.adapters.channels.slack_message import slack_message
from affidavit.ports.notice_record import Notice


@dataclass(frozen=True, kw_only=True)
class SlackWebhookNotifier:
    sender: Sender
    url: str = field(repr=False)

    def takes(self, notice: Notice) -> bool:
        return True

    def notify(self, notice: Notice, *, earlier: str) -> str:
        self.sender.post(self.url, slack_message(notice))
        return ""
