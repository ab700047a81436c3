"""Sends notices as JSON to any HTTPS endpoint, signed so that it can tell ours from others and refuse replays."""

import json
from dataclasses import asdict, dataclass, field

from affidavit.adapters.channels.http_sender import Sender
from affidavit.ports.clock import Clock
from affidavit.ports.notice_record import Notice
from affidavit.wire.body_signature import signature_headers

VERSION = 1


@dataclass(frozen=True, kw_only=True)
class WebhookNotifier:
    sender: Sender
    url: str = field(repr=False)
    secret: str = field(repr=False)
    clock: Clock

    def takes(self, notice: Notice) -> bool:
        return True

    def notify(self, notice: Notice, *, earlier: str) -> str:
        body = webhook_body(notice)
        headers = signature_headers(self.secret, body, at=self.clock.now())
        self.sender.send("POST", self.url, body, headers={**headers, "idempotency-key": notice.key})
        return ""


def webhook_body(notice: Notice) -> bytes:
    told = {"version": VERSION, **asdict(notice), "since": notice.since.isoformat()}
    return json.dumps(told, sort_keys=True, ensure_ascii=False).encode()
