"""Answers the PagerDuty incident that alerted us with a note. It opens, changes and closes nothing there."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from affidavit.adapters.channels.http_sender import Sender
from affidavit.adapters.channels.notice_sections import cut, parts_of
from affidavit.adapters.channels.slack_message import unlinked
from affidavit.errors import UpstreamFailed
from affidavit.ports.notice_record import Notice

SOURCE = "pagerduty"
DEDUP_SOURCE = "pagerduty-dedup-key"
_MOST_NOTE = 2_000


@dataclass(frozen=True, kw_only=True)
class PagerDutyNotifier:
    """`author` is the mail address of a user of the account: PagerDuty asks who writes."""

    sender: Sender
    token: str = field(repr=False)
    author: str
    api: str = "https://api.pagerduty.com"

    def takes(self, notice: Notice) -> bool:
        return notice.is_test or (notice.origin is not None and notice.origin.source in (SOURCE, DEDUP_SOURCE))

    def notify(self, notice: Notice, *, earlier: str) -> str:
        if notice.origin is None:
            self._get("/abilities")  # a test: whether the token is accepted
            return ""
        found = earlier or self._incident(notice.origin.source, notice.origin.key)
        url = f"{self.api}/incidents/{quote(found, safe='')}/notes"
        self.sender.post(url, {"note": {"content": _note(notice)}}, headers=self._headers)
        return found

    def _incident(self, source: str, key: str) -> str:
        """The incident's id. A dedup key is looked up: PagerDuty notes want the id."""
        if source == SOURCE:
            return key
        answer = self._get(f"/incidents?{urlencode({'incident_key': key, 'limit': 1, 'sort_by': 'created_at:desc'})}")
        incidents: list[dict[str, Any]] = answer.get("incidents") or []
        if not incidents:
            raise UpstreamFailed(
                "PagerDuty has no incident with the alert's dedup key",
                hint="give the key that the event was sent with",
                is_retryable=True,
            )
        return str(incidents[0].get("id"))

    def _get(self, target: str) -> dict[str, Any]:
        return self.sender.send("GET", f"{self.api}{target}", b"", headers=self._headers).json()

    @property
    def _headers(self) -> dict[str, str]:
        return {
            "authorization": f"Token token={self.token}",
            "accept": "application/vnd.pagerduty+json;version=2",
            "from": self.author,
        }


def _note(notice: Notice) -> str:
    """Plain text; PagerDuty makes links of addresses, so those of logs are broken and ours comes last."""
    lines = [notice.title]
    for part in parts_of(notice):
        lines += ["", part.title] if part.title else [""]
        lines += [f"    {line.text}" if line.is_quote else line.text for line in part.lines]
    tail = f"\n{notice.link}" if notice.link else ""
    return cut(unlinked("\n".join(lines)), _MOST_NOTE - len(tail)) + tail
