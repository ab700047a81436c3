"""The newest log events of a function, and exactly which stretch of time they cover.

CloudWatch Logs answers oldest first, so the past is read in slices, newest slice first, and a slice too full to read
whole is halved. At least the last hour is searched; when it is silent, the last day.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import BaseModel, ConfigDict

from affidavit.ports.json import Item
from affidavit.ports.workload_inspector import LogLine, WorkloadInspector
from affidavit.progress import who_waits
from affidavit.workloads.wire import LogEvent, LogsResponse, NotRead, Window, iso

MESSAGE_SHOWN = 4_000
READ_LIMIT = 1_000
NARROWEST = 1_000  # ms; a second that holds more lines than READ_LIMIT is reported as incomplete
ONLY_NEWEST = "only the newest events are shown"
"""Then nothing between the oldest event shown and now is missing."""

LAST_HOUR = (timedelta(minutes=5), timedelta(minutes=20), timedelta(hours=1))
LAST_DAY = (timedelta(hours=6), timedelta(hours=24))


@dataclass(frozen=True, kw_only=True)
class Room:
    """How much of the newest is wanted."""

    events: int
    characters: int


SHOWN = Room(events=300, characters=60_000)
SEARCHED = Room(events=2_000, characters=2_000_000)
"""For questions that look for something in the lines and show none of them."""


class _LoggingConfig(BaseModel):
    model_config = ConfigDict(extra="ignore")

    LogGroup: str | None = None


class _LoggedFunction(BaseModel):
    model_config = ConfigDict(extra="ignore")

    FunctionName: str
    LoggingConfig: _LoggingConfig = _LoggingConfig()


@dataclass(frozen=True, kw_only=True)
class _Slice:
    """Newest first. `start` is the earliest moment the slice covers."""

    start: int
    lines: tuple[LogLine, ...]
    is_complete: bool


@dataclass(frozen=True, kw_only=True)
class RecentLines:
    """Newest first, everything between `start` and `end` when complete."""

    lines: tuple[LogLine, ...]
    start: int
    end: int
    is_complete: bool
    has_holes: bool = False
    """Also between `start` and `end` something is missing."""


def log_group(function: Item) -> str:
    configured = _LoggedFunction.model_validate(function)
    return configured.LoggingConfig.LogGroup or f"/aws/lambda/{configured.FunctionName}"


def recent_logs(inspector: WorkloadInspector, name: str, *, now: datetime) -> LogsResponse:
    """Raises NotFound when the function or its log group is not there: a function that never ran has none."""
    group = log_group(inspector.function(name))
    recent = recent_lines(inspector, group, now=now)
    return LogsResponse(
        log_group=group,
        events=[_event(line) for line in recent.lines],
        window=Window(start=iso(recent.start), end=iso(recent.end)),
        is_complete=recent.is_complete,
        not_read=_not_read(group, recent),
    )


def recent_lines(inspector: WorkloadInspector, group: str, *, now: datetime, room: Room = SHOWN) -> RecentLines:
    end = int(now.timestamp() * 1000)
    lines: list[LogLine] = []
    start, is_complete = end, True
    for piece in _slices(inspector, group, end):
        lines += piece.lines
        start, is_complete = piece.start, is_complete and piece.is_complete
        if len(lines) > room.events or _characters(lines) > room.characters:
            return _newest(lines, room, end=end, has_holes=not is_complete)
        if lines and end - start >= _milliseconds(LAST_HOUR[-1]):
            break
    return RecentLines(lines=tuple(lines), start=start, end=end, is_complete=is_complete, has_holes=not is_complete)


def _newest(lines: list[LogLine], room: Room, *, end: int, has_holes: bool) -> RecentLines:
    """As many as are shown. The window shrinks to what they cover, so that nothing inside it is missing."""
    shown: list[LogLine] = []
    used = 0
    for line in lines[: room.events]:
        used += _characters([line])
        if shown and used > room.characters:
            break
        shown.append(line)
    left_out_at = lines[len(shown)].at if len(shown) < len(lines) else None
    start = shown[-1].at if shown[-1].at != left_out_at else shown[-1].at + 1
    return RecentLines(lines=tuple(shown), start=start, end=end, is_complete=False, has_holes=has_holes)


def _slices(inspector: WorkloadInspector, group: str, end: int) -> Iterator[_Slice]:
    newest = end
    for reach in (*LAST_HOUR, *LAST_DAY):
        start = end - _milliseconds(reach)
        yield from _halves(inspector, group, start, newest)
        newest = start - 1


def _halves(inspector: WorkloadInspector, group: str, start: int, end: int) -> Iterator[_Slice]:
    who_waits().check()
    page = inspector.log_lines(group, start=start, end=end, limit=READ_LIMIT)
    if page.is_complete or end - start <= NARROWEST:
        yield _Slice(start=start, lines=tuple(reversed(page.lines)), is_complete=page.is_complete)
        return
    middle = (start + end) // 2
    yield from _halves(inspector, group, middle + 1, end)
    yield from _halves(inspector, group, start, middle)


def _event(line: LogLine) -> LogEvent:
    message = line.message.rstrip("\n")
    return LogEvent(
        timestamp=iso(line.at),
        message=message[:MESSAGE_SHOWN],
        omitted_characters=max(0, len(message) - MESSAGE_SHOWN),
    )


def _not_read(group: str, recent: RecentLines) -> list[NotRead]:
    if recent.is_complete:
        return []
    older = NotRead(what=f"events of {group} before {iso(recent.start)}", why=ONLY_NEWEST)
    holes = NotRead(what=f"some newer events of {group}", why=f"a second holds more than {READ_LIMIT} of them")
    return [older, *([holes] if recent.has_holes else [])]


def _characters(lines: list[LogLine]) -> int:
    return sum(min(len(line.message), MESSAGE_SHOWN) for line in lines)


def _milliseconds(span: timedelta) -> int:
    return int(span.total_seconds() * 1000)
