"""Who else wrote between our read and our call: CloudTrail's word, and no word before it shows our own call."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.support.repairing.remediation import FUNCTION_ARN, NOW, a_plan, an_action

from affidavit.errors import Throttled
from affidavit.ports.aws_reads_and_changes import REQUEST_IDS
from affidavit.ports.workload_inspector import TrailLookup, TrailPage
from affidavit.remediation.execution.other_writers import READ_AT, Bystanders
from affidavit.remediation.record.chain import RecordEntry
from affidavit.remediation.record.phases import Phase


class Trail:
    """CloudTrail, with the events of a test. Its clock is 40 s ahead of ours."""

    def __init__(self, *events: dict[str, Any]) -> None:
        self.events, self.error = events, None

    def trail(self, lookup: TrailLookup, *, start: int, end: int, limit: int) -> TrailPage:
        if self.error is not None:
            raise self.error
        return TrailPage(events=tuple(e for e in self.events if lookup.value in e["resourceNames"]), is_complete=True)


def an_event(number: int, at: float, **changes: Any) -> dict[str, Any]:
    moment = NOW + timedelta(seconds=40 + at)
    return {
        "eventID": f"event-{number}",
        "requestID": f"request-{number}",
        "eventName": "PutFunctionConcurrency",
        "eventTime": f"{moment:%Y-%m-%dT%H:%M:%SZ}",
        "userIdentity": {"arn": f"arn:aws:iam::000000000000:user/user-{number}"},
        "resourceNames": ["orders"],
        **changes,
    }


def entries(read: datetime, called: datetime) -> list[RecordEntry]:
    def entry(phase: Phase, at: datetime, **details: Any) -> RecordEntry:
        return RecordEntry(
            plan_id="plan-1", number=1, phase=phase, at=at, by="executor", details={"step": 0, **details}, previous=""
        )

    intent = entry(Phase.INTENT_WRITTEN, read, **{READ_AT: read.isoformat()})
    return [intent, entry(Phase.CALLED, called, **{REQUEST_IDS: ["request-0"]})]


RECORD = entries(NOW, NOW + timedelta(seconds=2))
PLAN = a_plan(an_action(target=FUNCTION_ARN))


@pytest.mark.parametrize(
    ("at", "changes", "is_told"),
    [
        (1, {}, True),
        (2, {}, True),
        (0, {}, True),
        (-2, {}, False),
        (3, {}, False),
        (1, {"readOnly": True}, False),
        (1, {"errorCode": "AccessDenied"}, False),
        (1, {"resourceNames": ["another"]}, False),
        (1, {"resourceNames": [FUNCTION_ARN]}, True),
    ],
    ids=str,
)
def test_only_writes_of_others_within_the_window_are_told(at: float, changes: dict[str, Any], is_told: bool) -> None:
    seen = Bystanders(trail=Trail(an_event(0, 2), an_event(7, at, **changes))).seen(PLAN, RECORD)
    assert [("user-7" in one and "event-7" in one) for one in seen.writes] == ([True] if is_told else [])
    assert seen.not_known == ()


def test_before_cloudtrail_shows_our_own_call_nobody_says_that_nobody_wrote() -> None:
    seen = Bystanders(trail=Trail(an_event(7, 1))).seen(PLAN, RECORD)
    assert seen.writes == ()
    assert "does not show our own call" in seen.not_known[0]


def test_a_cloudtrail_that_cannot_be_asked_is_said() -> None:
    trail = Trail()
    trail.error = Throttled("slow down")
    assert "slow down" in Bystanders(trail=trail).seen(PLAN, RECORD).not_known[0]


def test_calls_under_a_token_need_no_looking_up() -> None:
    action = an_action(type="lambda.configuration.restore", arguments={"path": "Timeout", "value": 3})
    assert Bystanders(trail=Trail()).seen(a_plan(action), RECORD).sentences == ()
