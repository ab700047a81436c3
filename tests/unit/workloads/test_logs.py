"""Which lines are read, and that the answer says exactly what it covers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from affidavit.errors import NotFound, UpstreamFailed
from affidavit.ports.workload_inspector import LogLine, LogPage
from affidavit.workloads.logs import MESSAGE_SHOWN, ONLY_NEWEST, READ_LIMIT, SHOWN, recent_lines, recent_logs
from affidavit.workloads.wire import iso

NOW = datetime(2026, 3, 3, 10, 15, tzinfo=UTC)
END = int(NOW.timestamp() * 1000)
HOUR = 3_600_000


@dataclass
class Logs:
    """The part of an inspector that logs need, over a list of lines."""

    lines: Sequence[LogLine]
    group: str = "/aws/lambda/data-processor"
    calls: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def function(self, name: str) -> dict[str, object]:
        custom = {"LoggingConfig": {"LogGroup": self.group}} if not self.group.startswith("/aws/lambda/") else {}
        return {"FunctionName": name, **custom}

    def log_lines(self, group: str, *, start: int, end: int, limit: int) -> LogPage:
        assert group == self.group
        self.calls.append((start, end))
        inside = sorted((line for line in self.lines if start <= line.at <= end), key=lambda line: line.at)
        return LogPage(lines=tuple(inside[:limit]), is_complete=len(inside) <= limit)


def line(ago: int, message: str = "m") -> LogLine:
    return LogLine(at=END - ago, message=message)


def asked(logs: Logs):
    return recent_logs(logs, "data-processor", now=NOW)  # type: ignore[arg-type]


def test_events_come_newest_first_and_the_window_is_the_last_hour() -> None:
    answer = asked(Logs([line(1_000, "b"), line(HOUR - 1, "a"), line(0, "c")]))
    assert [event.message for event in answer.events] == ["c", "b", "a"]
    assert answer.window is not None
    assert (answer.window.start, answer.window.end) == (iso(END - HOUR), iso(END))
    assert answer.is_complete


def test_a_silent_hour_widens_the_search_to_a_day() -> None:
    answer = asked(Logs([line(20 * HOUR, "old")]))
    assert [event.message for event in answer.events] == ["old"]
    assert answer.window is not None
    assert answer.window.start == iso(END - 24 * HOUR)


def test_a_silent_day_is_an_empty_answer_that_says_it_covered_the_day() -> None:
    answer = asked(Logs([line(25 * HOUR)]))
    assert (answer.events, answer.is_complete) == ([], True)
    assert answer.window is not None
    assert answer.window.start == iso(END - 24 * HOUR)


def test_more_than_can_be_shown_shrinks_the_window_and_is_not_called_complete() -> None:
    answer = asked(Logs([line(number * 1_000, str(number)) for number in range(500)]))
    assert [event.message for event in answer.events] == [str(number) for number in range(SHOWN.events)]
    assert not answer.is_complete
    assert answer.window is not None
    assert answer.window.start == answer.events[-1].timestamp
    assert [part.why for part in answer.not_read] == [ONLY_NEWEST]
    assert answer.not_read[0].what.startswith("events of /aws/lambda/data-processor before")


def test_a_moment_whose_lines_were_cut_is_not_inside_the_window() -> None:
    answer = asked(Logs([line(5_000, str(number)) for number in range(SHOWN.events + 50)]))
    assert answer.window is not None
    assert answer.window.start == iso(END - 5_000 + 1)


def test_a_flood_is_halved_until_it_can_be_read_and_the_newest_are_found() -> None:
    flood = [line(number, str(number)) for number in range(0, 5 * READ_LIMIT * 10, 10)]
    answer = asked(Logs(flood))
    assert [event.message for event in answer.events[:3]] == ["0", "10", "20"]
    assert not answer.is_complete


def test_a_line_on_the_edge_of_two_slices_is_read_once() -> None:
    edges = [5 * 60_000, 20 * 60_000, HOUR]
    answer = asked(Logs([line(ago + off, f"{ago}{off:+}") for ago in edges for off in (-1, 0)]))
    assert [event.message for event in answer.events] == [f"{ago}{off:+}" for ago in edges for off in (-1, 0)]


def test_halving_a_full_slice_loses_no_line_and_doubles_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("affidavit.workloads.logs.READ_LIMIT", 7)
    monkeypatch.setattr("affidavit.workloads.logs.NARROWEST", 0)
    # One line a millisecond: wherever a slice is halved, a line stands there.
    answer = asked(Logs([line(number, str(number)) for number in range(90)]))
    assert [event.message for event in answer.events] == [str(number) for number in range(90)]
    assert answer.is_complete


def test_a_second_too_full_to_read_makes_the_answer_incomplete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("affidavit.workloads.logs.READ_LIMIT", 7)
    answer = asked(Logs([line(3_000, str(number)) for number in range(20)]))
    assert not answer.is_complete
    assert answer.not_read[-1].what == "some newer events of /aws/lambda/data-processor"


def test_a_huge_message_is_cut_and_says_by_how_much() -> None:
    answer = asked(Logs([line(1, "x" * (MESSAGE_SHOWN + 17))]))
    assert len(answer.events[0].message) == MESSAGE_SHOWN
    assert answer.events[0].omitted_characters == 17


def test_a_custom_log_group_is_honoured() -> None:
    assert asked(Logs([line(1)], group="/acme/processors")).log_group == "/acme/processors"


@pytest.mark.parametrize("error", [NotFound("no such group"), UpstreamFailed("down")])
def test_an_outage_is_raised_and_never_an_empty_list(error: Exception) -> None:
    class Down(Logs):
        def log_lines(self, group: str, *, start: int, end: int, limit: int) -> LogPage:
            raise error

    with pytest.raises(type(error)):
        asked(Down([]))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30 * HOUR), st.integers(1, 40)), max_size=60))
def test_every_line_inside_the_window_is_shown_once_in_order(bursts: list[tuple[int, int]]) -> None:
    lines = [line(ago, f"{ago}/{number}") for ago, count in bursts for number in range(count)]
    recent = recent_lines(Logs(lines), "/aws/lambda/data-processor", now=NOW)  # type: ignore[arg-type]
    inside = [entry for entry in lines if recent.start <= entry.at <= recent.end]
    shown = [entry.message for entry in recent.lines if entry.at >= recent.start]
    assert sorted(shown) == sorted(entry.message for entry in inside)
    assert [entry.at for entry in recent.lines] == sorted((entry.at for entry in recent.lines), reverse=True)
    if recent.is_complete:
        assert recent.start <= END - int(timedelta(hours=1).total_seconds() * 1000)
