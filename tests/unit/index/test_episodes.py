"""When a fault was there, and when it only looked like one."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.archives.bundles import analyze_files
from tests.support.knowledge.packs import a_pack, a_rule

from affidavit.entrypoints.report.content import state_line
from affidavit.evidence.finding import FaultState, Finding
from affidavit.evidence.severity import Severity
from affidavit.index.faults.episodes import in_order, most_within, soon_after, spans
from affidavit.index.findings_from_hits import EPISODES
from affidavit.index.times.bundle_clock import UNKNOWN
from affidavit.index.times.timestamps import SECOND

COLLECTED = datetime(2026, 1, 15, 10, 30, tzinfo=UTC)
START = a_rule("t.started", "daemon started", severity="info", marks_start=True)


def log(*events: tuple[int, str]) -> bytes:
    """Lines so many seconds before the collection."""
    lines = [f"{(COLLECTED - timedelta(seconds=ago)).isoformat()} {text}\n" for ago, text in events]
    return "".join([*lines, f"{COLLECTED.isoformat()} quiet\n"]).encode()


def finding(content: bytes, folder: Path, **fields: object) -> Finding:
    samples = {"fires": ["KAPUT"], "quiet": ["fine"], "clears": ["MENDED"], "plans": ["STOPPING"]}
    pack = a_pack(START, a_rule("t.kaput", "KAPUT", severity="critical", samples=samples, **fields))
    index = analyze_files({"var_log/a.log": content}, pack, folder).index
    return next(found for found in index.findings if found.rule == "t.kaput")


def test_a_fault_that_was_cleared_is_recovered_with_its_spans(tmp_path: Path) -> None:
    content = log((900, "KAPUT"), (880, "KAPUT"), (800, "MENDED"), (500, "KAPUT"), (400, "MENDED"), (300, "MENDED"))
    found = finding(content, tmp_path, cleared_by=["MENDED"])
    assert (found.state, found.severity, found.count) == (FaultState.RECOVERED, Severity.CRITICAL, 3)
    assert found.episodes is not None
    assert [(e.count, (e.end - e.start).seconds, e.cleared_at) for e in found.episodes] == [
        (2, 20, COLLECTED - timedelta(seconds=800)),
        (1, 0, COLLECTED - timedelta(seconds=400)),
    ]


def test_a_fault_that_came_back_is_open(tmp_path: Path) -> None:
    found = finding(log((900, "KAPUT"), (800, "MENDED"), (500, "KAPUT")), tmp_path, cleared_by=["MENDED"])
    assert found.state is FaultState.OPEN
    assert found.episodes is not None and found.episodes[-1].cleared_at is None


@pytest.mark.parametrize(("times", "total"), [(EPISODES, None), (EPISODES + 10, EPISODES + 10)])
def test_of_many_spans_the_last_are_listed_and_all_are_counted(times: int, total: int | None, tmp_path: Path) -> None:
    events = [event for n in range(times, 0, -1) for event in ((100 * n, "KAPUT"), (100 * n - 10, "MENDED"))]
    found = finding(log(*events), tmp_path, cleared_by=["MENDED"])
    assert found.episodes is not None
    assert (len(found.episodes), found.episodes_total) == (EPISODES, total)
    assert found.episodes[-1].start == COLLECTED - timedelta(seconds=100)
    assert f"Recovered: {times} episodes, the last " in state_line(found)


@pytest.mark.parametrize(("then", "is_startup"), [((880, "MENDED"), True), ((895, "MENDED"), False)])
def test_what_is_logged_once_is_part_of_a_start_only_where_a_line_ends_it(
    then: tuple[int, str], is_startup: bool, tmp_path: Path
) -> None:
    lines = log(STARTED, *sorted([(890, "KAPUT"), then], reverse=True))
    found = finding(lines, tmp_path, startup_seconds=300, told_once=True, cleared_by=["MENDED"])
    assert (found.state is FaultState.STARTUP) == is_startup


@pytest.mark.parametrize(
    ("others", "severity"),
    [([900, 600], Severity.HIGH), ([900], Severity.CRITICAL), ([], Severity.CRITICAL)],
    ids=["each line is of an event that the other rule tells", "one line stands alone", "nothing else is told"],
)
def test_what_another_rule_tells_of_the_same_events_says_how_bad_they_are(
    others: list[int], severity: Severity, tmp_path: Path
) -> None:
    other = a_rule("t.other", "OTHER", severity="high", samples={"fires": ["OTHER"], "quiet": ["fine"]})
    mine = a_rule(
        "t.kaput", "KAPUT", severity="critical", as_severe_as=["t.other"], samples={"fires": ["KAPUT"], "quiet": ["x"]}
    )
    events = sorted([(900, "KAPUT"), (600, "KAPUT"), *((ago, "OTHER") for ago in others)], reverse=True)
    index = analyze_files({"var_log/a.log": log(*events)}, a_pack(mine, other), tmp_path).index
    assert next(found.severity for found in index.findings if found.rule == "t.kaput") is severity


@pytest.mark.parametrize(("seconds", "severity"), [(101, Severity.HIGH), (900, Severity.CRITICAL)])
def test_lines_of_one_log_are_of_one_event_by_its_own_clock_when_nothing_tells_the_time(
    seconds: int, severity: Severity, tmp_path: Path
) -> None:
    reads = ["kernel/dmesg.current"]
    other = a_rule("t.other", "OTHER", severity="high", reads=reads, samples={"fires": ["OTHER"], "quiet": ["fine"]})
    mine = a_rule(
        "t.kaput",
        "KAPUT",
        severity="critical",
        reads=reads,
        as_severe_as=["t.other"],
        samples={"fires": ["KAPUT"], "quiet": ["x"]},
    )
    lines = f"[  100.000000] KAPUT\n[  {seconds}.000000] OTHER\n".encode()
    index = analyze_files({"kernel/dmesg.current": lines}, a_pack(mine, other), tmp_path).index
    assert next(found.severity for found in index.findings if found.rule == "t.kaput") is severity


HOUR = 3600


@pytest.mark.parametrize(
    ("seconds_before", "state"),
    [
        ([900], FaultState.OPEN),
        ([2 * HOUR], FaultState.UNKNOWN),
        ([5 * HOUR], FaultState.OVER),
        ([5 * HOUR, 4 * HOUR, 3 * HOUR], FaultState.OPEN),
        ([5 * HOUR, 5 * HOUR - 600, 5 * HOUR - 1200], FaultState.OVER),
        ([2 * HOUR, 2 * HOUR - 1, 2 * HOUR - 2], FaultState.UNKNOWN),
    ],
    ids=["just now", "once, two hours ago", "once, long ago", "every hour", "stopped long ago", "one burst"],
)
def test_without_clearing_lines_the_rhythm_tells_whether_it_goes_on(
    seconds_before: list[int], state: FaultState, tmp_path: Path
) -> None:
    assert finding(log(*((seconds, "KAPUT") for seconds in seconds_before)), tmp_path).state is state


def test_what_lasts_until_a_reboot_is_open_however_long_ago_it_came(tmp_path: Path) -> None:
    assert finding(log((5 * HOUR, "KAPUT")), tmp_path, lasts=True).state is FaultState.OPEN


def test_a_second_outbreak_has_its_own_beginning(tmp_path: Path) -> None:
    found = finding(log((5 * HOUR, "KAPUT"), (300, "KAPUT"), (200, "KAPUT")), tmp_path)
    assert (found.first_seen, found.since) == (COLLECTED - timedelta(hours=5), COLLECTED - timedelta(seconds=300))


STARTED = (900, "daemon started")


@pytest.mark.parametrize(
    ("events", "is_startup"),
    [
        ([STARTED, (890, "KAPUT"), (700, "KAPUT")], True),
        ([STARTED, (890, "KAPUT"), (500, "KAPUT")], False),
        ([(910, "KAPUT"), STARTED], False),
        ([(890, "KAPUT")], False),
        ([(250, "daemon started"), (200, "KAPUT"), (30, "KAPUT")], False),
        ([e for ago in range(3000, 500, -150) for e in ((ago, "daemon started"), (ago - 10, "KAPUT"))], False),
        ([e for ago in (3000, 2000, 1000) for e in ((ago, "daemon started"), (ago - 10, "KAPUT"))], True),
    ],
    ids=[
        "all-soon",
        "one-late",
        "before",
        "no-start",
        "still-there-at-collection",
        "starts-over-and-over",
        "three-starts",
    ],
)
def test_a_startup_is_told_from_an_outage(events: list[tuple[int, str]], is_startup: bool, tmp_path: Path) -> None:
    found = finding(log(*events), tmp_path, startup_seconds=300)
    assert (found.state is FaultState.STARTUP) == is_startup
    assert found.severity is (Severity.INFO if is_startup else Severity.CRITICAL)
    assert found.confirmation is None if is_startup else found.confirmation is not None


@pytest.mark.parametrize(
    ("seconds_before", "log_ends", "is_brief"),
    [
        ([900, 880, 850], 0, True),
        ([900, 880, 830], 0, False),
        ([900, 880], 0, False),
        ([900, 880, 850, 100], 0, False),
        ([2900, 2880, 2850, 900, 880, 850], 0, True),
        ([8900, 8880, 8850, 6900, 6880, 6850, 4900, 4880, 4850, 900, 880, 850], 0, False),
        ([2900, 2880, 2850, 900, 880, 830], 0, False),
        ([590, 580, 570], 0, False),
        ([900, 880, 850], 840, False),
    ],
    ids=[
        "passed",
        "too long",
        "too few tries",
        "came back",
        "two that passed",
        "comes and goes",
        "second too long",
        "just now",
        "the log ends with it",
    ],
)
def test_a_short_outage_that_passed_is_low(
    seconds_before: list[int], log_ends: int, is_brief: bool, tmp_path: Path
) -> None:
    lines = log(*((seconds, "KAPUT") for seconds in seconds_before), (log_ends, "fine")).splitlines(keepends=True)
    content = b"".join(lines[:-1] if log_ends else lines)
    files = {"var_log/a.log": content, "var_log/other.log": log((10, "fine"))}
    pack = a_pack(START, a_rule("t.kaput", "KAPUT", severity="critical", brief_seconds=60))
    (found,) = analyze_files(files, pack, tmp_path).index.findings
    assert (found.severity, found.state) == (
        (Severity.LOW, FaultState.OVER) if is_brief else (Severity.CRITICAL, FaultState.OPEN)
    )


@pytest.mark.parametrize(
    ("events", "severity"),
    [
        ([(900, "will retry: KAPUT"), (890, "will retry: KAPUT")], Severity.LOW),
        ([(900, "will retry: KAPUT"), (890, "KAPUT")], Severity.CRITICAL),
        ([(900, "will retry: KAPUT")], Severity.CRITICAL),
        ([(310, "will retry: KAPUT"), (300, "will retry: KAPUT")], Severity.CRITICAL),
    ],
    ids=["silence tells that it worked", "one gave up", "not seen to try again", "too soon to tell"],
)
def test_of_who_tries_until_it_works_two_lines_are_enough(
    events: list[tuple[int, str]], severity: Severity, tmp_path: Path
) -> None:
    pack = a_pack(START, a_rule("t.kaput", "KAPUT", severity="critical", brief_seconds=60, tries_on=["will retry"]))
    content = b"".join(log(*events).splitlines(keepends=True)[:-1])
    files = {"var_log/a.log": content, "var_log/other.log": log((10, "fine"))}
    (found,) = analyze_files(files, pack, tmp_path).index.findings
    assert found.severity is severity


def test_a_probe_that_fails_while_its_own_pod_ends_is_planned(tmp_path: Path) -> None:
    def told(*events: tuple[int, str], folder: str) -> FaultState | None:
        samples = {"fires": ["KAPUT"], "quiet": ["fine"], "plans": ["DELETE"]}
        rule = a_rule(
            "t.kaput", "KAPUT", severity="critical", samples=samples, planned_by=["DELETE"], planned_for="pod"
        )
        index = analyze_files({"var_log/a.log": log(*events)}, a_pack(START, rule), tmp_path / folder).index
        return next(found.state for found in index.findings if found.rule == "t.kaput")

    end = (1900, 'DELETE pods=["a/one"]')
    mine, other = (1400, 'KAPUT pod="a/one"'), (1890, 'KAPUT pod="a/two"')
    assert told(end, mine, folder="mine") is FaultState.PLANNED
    assert told(end, other, folder="other") is not FaultState.PLANNED
    assert told(end, mine, other, folder="both") is not FaultState.PLANNED
    assert told(end, (900, 'KAPUT pod="a/one"'), folder="late") is not FaultState.PLANNED
    assert told((1950, 'KAPUT pod="a/one"'), end, folder="before") is not FaultState.PLANNED
    assert told(end, (1890, "KAPUT"), folder="nameless") is not FaultState.PLANNED


@pytest.mark.parametrize(("who_goes_on", "severity"), [("kubelet", Severity.LOW), ("crond", Severity.CRITICAL)])
def test_that_others_log_on_says_nothing_of_a_program_that_fell_silent(
    who_goes_on: str, severity: Severity, tmp_path: Path
) -> None:
    events = [
        (900, "kubelet", "KAPUT"),
        (890, "kubelet", "KAPUT"),
        (880, "kubelet", "KAPUT"),
        (10, who_goes_on, "fine"),
    ]
    lines = [
        f"{COLLECTED - timedelta(seconds=ago):%b %d %H:%M:%S} ip-10-0-1-7 {who}[7]: {t}\n" for ago, who, t in events
    ]
    files = {"var_log/messages": "".join(lines).encode(), "var_log/other.log": log((10, "fine"))}
    pack = a_pack(START, a_rule("t.kaput", "KAPUT", severity="critical", brief_seconds=60, reads=["any"]))
    (found,) = analyze_files(files, pack, tmp_path).index.findings
    assert found.severity is severity


def test_a_planned_stop_is_told_from_a_crash(tmp_path: Path) -> None:
    planned = finding(log((900, "STOPPING"), (899, "KAPUT")), tmp_path / "a", planned_by=["STOPPING"])
    assert (planned.state, planned.severity) == (FaultState.PLANNED, Severity.INFO)
    crash = finding(log((900, "STOPPING"), (899, "KAPUT"), (300, "KAPUT")), tmp_path / "b", planned_by=["STOPPING"])
    assert (crash.state, crash.severity) == (FaultState.OPEN, Severity.CRITICAL)


def test_what_is_a_fault_only_when_repeated_is_lowered_when_seldom(tmp_path: Path) -> None:
    repeated = {"times": 3, "within_seconds": 60, "otherwise": "low"}
    seldom = finding(log((900, "KAPUT"), (500, "KAPUT"), (100, "KAPUT")), tmp_path / "a", repeated=repeated)
    assert seldom.severity is Severity.LOW
    assert seldom.severity_note is not None and "3 times within 60 s" in seldom.severity_note
    burst = finding(
        log((900, "KAPUT"), (120, "KAPUT"), (100, "KAPUT"), (61, "KAPUT")), tmp_path / "b", repeated=repeated
    )
    assert burst.severity is Severity.CRITICAL


def test_a_try_that_failed_once_is_lowered_only_when_the_log_goes_on_without_another(tmp_path: Path) -> None:
    repeated = {"times": 2, "within_seconds": 1800, "otherwise": "low", "once_passed": True}
    passed = finding(log((900, "KAPUT"), (10, "fine")), tmp_path / "a", repeated=repeated)
    assert passed.severity is Severity.LOW
    last_words = finding(log((900, "fine"), (20, "KAPUT"), (10, "fine")), tmp_path / "b", repeated=repeated)
    assert last_words.severity is Severity.CRITICAL
    for_good = finding(log((900, "KAPUT"), (10, "fine")), tmp_path / "d", repeated={**repeated, "only": "timeout"})
    assert for_good.severity is Severity.CRITICAL
    again = finding(log((1500, "KAPUT"), (900, "KAPUT"), (10, "fine")), tmp_path / "c", repeated=repeated)
    assert again.severity is Severity.CRITICAL


@pytest.mark.parametrize(
    ("events", "fields", "quoted"),
    [
        ([STARTED, (890, "KAPUT"), (500, "KAPUT")], {"startup_seconds": 300}, 3),
        ([STARTED, (890, "KAPUT"), (690, "KAPUT"), (500, "KAPUT")], {"startup_seconds": 300}, 2),
        ([(900, "STOPPING"), (899, "KAPUT"), (300, "KAPUT")], {"planned_by": ["STOPPING"]}, 3),
        (
            [(900, "KAPUT"), (120, "KAPUT"), (100, "KAPUT"), (61, "KAPUT")],
            {"repeated": {"times": 3, "within_seconds": 60, "otherwise": "low"}},
            2,
        ),
        ([(900, "KAPUT"), (300, "KAPUT")], {}, 1),
    ],
    ids=["after-a-start", "from-the-start-on", "after-a-planned-stop", "burst", "plain"],
)
def test_the_quoted_line_is_of_the_outbreak_and_every_line_counts(
    events: list[tuple[int, str]], fields: dict[str, Any], quoted: int, tmp_path: Path
) -> None:
    found = finding(log(*events), tmp_path, **fields)
    kaput = {number for number, (_, text) in enumerate(events, 1) if text == "KAPUT"}
    assert found.severity is Severity.CRITICAL
    assert found.count == len(kaput)
    assert found.evidence.line_range is not None and found.evidence.line_range.start == quoted
    assert {each.line for each in found.additional_occurrences} == kaput - {quoted}


times = st.lists(st.integers(0, 1000), max_size=30).map(lambda seconds: np.array(seconds, dtype=np.int64) * SECOND)


@given(hits=times, clears=times)
def test_spans_hold_every_hit_once_and_no_clear_inside(hits: np.ndarray, clears: np.ndarray) -> None:
    found = spans(hits, in_order(clears))
    assert sum(span.count for span in found) == len(hits)
    for span in found:
        assert not ((clears >= span.start) & (clears < span.end)).any()
        assert span.cleared == UNKNOWN or span.cleared >= span.end


@given(hits=times, seconds=st.integers(1, 200))
def test_the_densest_stretch_is_found(hits: np.ndarray, seconds: int) -> None:
    slow = max((int(((hits >= t) & (hits <= t + seconds * SECOND)).sum()) for t in hits), default=0)
    assert most_within(hits, seconds) == slow


@given(hits=times, seconds=st.integers(1, 200), untimed=st.integers(0, 60))
def test_hits_without_a_time_are_a_stretch_of_their_own_whatever_stands_beside_them(
    hits: np.ndarray, seconds: int, untimed: int
) -> None:
    both = np.concatenate([hits, np.full(untimed, UNKNOWN, dtype=np.int64)])
    assert most_within(both, seconds) == max(most_within(hits, seconds), untimed)


@given(hits=times, starts=times, seconds=st.integers(1, 200))
def test_soon_after_means_within_the_time_of_some_start(hits: np.ndarray, starts: np.ndarray, seconds: int) -> None:
    expected = [any(0 <= hit - start <= seconds * SECOND for start in starts) for hit in hits]
    assert soon_after(hits, in_order(starts), seconds).tolist() == expected


def test_a_fault_that_comes_and_goes_without_end_is_told_apart_in_one_pass() -> None:
    hits = np.arange(300_000) * 2 * SECOND
    found = spans(hits, hits + SECOND)
    assert len(found) == 300_000
    assert {(span.count, span.cleared - span.end) for span in found} == {(1, SECOND)}
