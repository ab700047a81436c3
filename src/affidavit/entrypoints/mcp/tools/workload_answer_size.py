"""Keep an answer about a Lambda function within a number of bytes.

Of logs and changes the oldest go first. Of everything else the largest parts go, so that the fewest are missing.
`not_read` names what is gone, so that nobody takes a shortened list for the whole.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, cast

from pydantic import BaseModel
from pydantic_core import to_json

from affidavit.workloads.logs import ONLY_NEWEST
from affidavit.workloads.wire import Answer, ChangesResponse, LogsResponse, NotRead, Window, iso

LEFT_OUT: Final = "left out for the length of this answer"
# What the server adds: success, redacted, truncation_info.
_ADDED: Final = 500
_NAMED: Final = 5
_KEPT: Final = frozenset({"not_read", "error", "hint"})


@dataclass(frozen=True, kw_only=True)
class Shortened:
    """`parts` is how many there were, `left_out` how many of them are gone."""

    answer: Answer
    parts: int
    left_out: int


def shortened(answer: Answer, max_bytes: int) -> Shortened:
    """The answer with as much of it as fits. What has no parts stays, however long it is."""
    is_timed = isinstance(answer, LogsResponse | ChangesResponse)
    parts, without = _newest_first(answer) if is_timed else _parts(answer)
    shorter, left_out = answer, 0
    while left_out < parts and len(to_json(shorter)) + _ADDED > max_bytes:
        left_out += 1
        shorter = without(left_out)
    return Shortened(answer=shorter, parts=parts, left_out=left_out)


def _newest_first(answer: LogsResponse | ChangesResponse) -> tuple[int, Callable[[int], Answer]]:
    field, what, times = _listed(answer)
    end = answer.window.end if answer.window is not None else times[0] if times else ""

    def without(count: int) -> Answer:
        kept = len(times) - count
        start = _covered_from(times[kept - 1], times[kept]) if kept else end
        older = NotRead(what=f"{what} before {start}", why=ONLY_NEWEST)
        others = [each for each in answer.not_read if each.why != ONLY_NEWEST]
        changed = {field: getattr(answer, field)[:kept], "window": Window(start=start, end=end), "is_complete": False}
        return answer.model_copy(update={**changed, "not_read": [older, *others]})

    return len(times), without


def _listed(answer: LogsResponse | ChangesResponse) -> tuple[str, str, list[str]]:
    """The field with the list, what it lists, and the times of its entries."""
    match answer:
        case LogsResponse():
            return "events", f"events of {answer.log_group}", [event.timestamp for event in answer.events]
        case ChangesResponse():
            return "changes", f"changes of {answer.lambda_name}", [change.time for change in answer.changes]


def _covered_from(oldest: str, next_older: str) -> str:
    """Entries of one moment that are not all shown are not covered."""
    if oldest != next_older:
        return oldest
    after = datetime.fromisoformat(oldest) + timedelta(milliseconds=1)
    return iso(round(after.timestamp() * 1000))


@dataclass(frozen=True, kw_only=True)
class _Part:
    """An entry of a list or of a mapping, or a whole record; `key` is None for a record."""

    field: str
    key: int | str | None
    size: int


def _parts(answer: Answer) -> tuple[int, Callable[[int], Answer]]:
    largest = sorted(_every_part(answer), key=lambda part: -part.size)

    def without(count: int) -> Answer:
        gone = largest[:count]
        changed = {field: _rest(getattr(answer, field), gone, field) for field in {part.field for part in gone}}
        return answer.model_copy(update={**changed, "not_read": [*answer.not_read, *_named(gone, answer)]})

    return len(largest), without


def _every_part(answer: Answer) -> list[_Part]:
    found: list[_Part] = []
    for field in type(answer).model_fields.keys() - _KEPT:
        value: Any = getattr(answer, field)
        entries: Mapping[Any, Any] = {None: value} if isinstance(value, BaseModel) else _entries(value)
        found += [_Part(field=field, key=key, size=len(to_json(each))) for key, each in entries.items()]
    return sorted(found, key=lambda part: (part.field, str(part.key)))


def _entries(value: object) -> Mapping[Any, Any]:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value)  # documents by name
    return dict(enumerate(cast("list[Any]", value))) if isinstance(value, list) else {}  # of records


def _rest(value: Any, gone: Sequence[_Part], field: str) -> Any:
    keys = {part.key for part in gone if part.field == field}
    if None in keys:
        return None
    left = {key: each for key, each in _entries(value).items() if key not in keys}
    return left if isinstance(value, Mapping) else list(left.values())


def _named(gone: Sequence[_Part], answer: Answer) -> list[NotRead]:
    return [
        NotRead(what=_what(field, count, [part.key for part in gone if part.field == field], answer), why=LEFT_OUT)
        for field, count in sorted(Counter(part.field for part in gone).items())
    ]


def _what(field: str, count: int, keys: list[int | str | None], answer: Answer) -> str:
    names = [key for key in keys if isinstance(key, str)][:_NAMED]
    if keys == [None]:
        return field
    said = f"{count} of {len(_entries(getattr(answer, field)))} entries of {field}"
    return f"{said}: {', '.join(names)}{' …' if len(names) < count else ''}" if names else said
