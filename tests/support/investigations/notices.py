"""Notices for tests, and texts that try to be more than text."""

from datetime import UTC, datetime
from typing import Any

from affidavit.adapters.channels.allowed_destinations import Egress
from affidavit.adapters.channels.http_sender import Sender
from affidavit.evidence.diagnosis import IncidentSeverity
from affidavit.ports.notice_record import Notice, NoticeQuote, NoticeStep

HERE = Egress(hosts=frozenset(), private_hosts=frozenset({"127.0.0.1"}))
HOSTILE = (
    "<!channel> <@U123> <https://evil.example|click> *bold* `code` ```fence``` @octocat #1 "
    "[link](https://evil.example) <img src=x> <at>all</at> ![i](https://evil.example/i.png) ~~~ &lt;"
)


def a_sender(deadline: float = 5.0) -> Sender:
    return Sender(egress=HERE, deadline=deadline)


def a_notice(text: str = "s3:GetObject was denied", **changes: Any) -> Notice:
    values: dict[str, Any] = {
        "key": "inc-1#2",
        "incident_id": "inc-1",
        "about": "data-processor",
        "state": "DIAGNOSED",
        "severity": IncidentSeverity.HIGH,
        "title": f"[DIAGNOSED] data-processor: {text}",
        "cause": text,
        "is_diagnosed": True,
        "attempts": 1,
        "resources": ("data-processor",),
        "since": datetime(2026, 1, 15, 10, 0, tzinfo=UTC),
        "account": "123456789012",
        "region": "ca-central-1",
        "summary": "high, permission_loss, proven, confidence high (3 of 3)",
        "open_obligations": (),
        "evidence": (NoticeQuote(shows=text, text=text, cut=0, place="get_recent_logs /events/0/message"),),
        "plan": (NoticeStep(action="Restore the policy (because of [0]; risk low)", details=text),),
        "gaps": (text,),
        "link": "https://console.example/incidents/inc-1",
    }
    return Notice(**{**values, **changes})
