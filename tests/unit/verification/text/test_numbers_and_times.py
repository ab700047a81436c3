"""Numbers and times in sentences are held to the recorded ones, in any unit."""

import pytest

from affidavit.verification.ledger_entry import make_entry
from affidavit.verification.text.numbers import number_findings
from affidavit.verification.text.recorded_answers import Answers, read_answers
from affidavit.verification.text.times import time_findings

LOGS = {
    "events": [
        {
            "timestamp": "2026-05-02T07:41:10.212Z",
            "message": "REPORT RequestId: a Duration: 212.41 ms Memory Size: 512 MB Max Memory Used: 512 MB",
        },
        {"timestamp": "2026-05-02T07:41:09.000Z", "message": "WARN upstream retry-after=120 picture 1600x1200"},
    ]
}
CONFIG = {
    "Timeout": 30,
    "MemorySize": 512,
    "Metrics": {"invocations": 48, "errors": 31, "throttles": 0},
    "changes": [{"event_time": "2026-05-02T07:12:00Z", "memorySize": 512, "previousMemorySize": 2048}],
}


def answers() -> Answers:
    return read_answers([make_entry("E-001", "logs", {}, LOGS), make_entry("E-002", "config", {}, CONFIG)])


def refused(text: str) -> list[str]:
    found = (*number_findings(text, answers()), *time_findings(text, answers()))
    return [one.says for one in found if one.is_refused]


def unchecked(text: str) -> list[str]:
    found = (*number_findings(text, answers()), *time_findings(text, answers()))
    return [one.says for one in found if not one.is_refused]


@pytest.mark.parametrize(
    "text",
    [
        "The run took 212 ms, that is 0.2 s.",
        "It ended after 212.41 ms.",
        "The limit is 30 s, that is 30000 ms or half a minute.",
        "512 MB of 512 MB were used, 0.5 GB.",
        "31 of 48 invocations failed, 65 %.",
        "17 of 48 invocations went well.",
        "The memory went from 2048 MB to 512 MB.",
        "The memory went from 2 GB to 0.5 GB.",
        "The upstream asks to wait 120 seconds, two minutes.",
        "The picture has 1600 by 1200 pixels.",
        "At 07:41 UTC the run failed; the change was at 07:12, 29 minutes before.",
        "On 2026-05-02 two runs failed.",
    ],
)
def test_a_recorded_number_may_be_told_in_any_unit_and_rounded(text: str) -> None:
    assert refused(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "The run took 212 s.",
        "The run took 2.1 s.",
        "The limit is 30 minutes.",
        "512 KB were used.",
        "512 GB were used.",
        "The upstream asks to wait 120 minutes.",
        "3100 invocations failed.",
        "All 48 invocations failed.",
        "310 of 480 invocations failed.",
        "50 of 48 invocations failed.",
        "95 % of the invocations failed.",
        "The memory went from 512 MB to 2048 MB.",
        "The change was made at 08:12 UTC.",
        "It began on 2026-04-30.",
    ],
)
def test_another_number_unit_or_time_is_refused(text: str) -> None:
    assert refused(text) != []


@pytest.mark.parametrize("text", ["It handles about 140 records per second.", "It has failed since yesterday."])
def test_what_no_answer_can_show_stays_open(text: str) -> None:
    assert (refused(text), len(unchecked(text))) == ([], 1)
