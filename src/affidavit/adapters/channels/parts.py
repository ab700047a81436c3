"""Arranges a notice for a screen: a few titled parts of bounded length that a chat channel draws in its own way."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from affidavit.incidents.notices.plain_text import facts, how_to_go_on
from affidavit.ports.notice import Notice

MOST_ENTRIES = 5
MOST_CHARACTERS = 600


@dataclass(frozen=True, kw_only=True, slots=True)
class PartLine:
    """`is_quote`: as it stands in the evidence."""

    text: str
    is_quote: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    title: str
    lines: tuple[PartLine, ...]


def parts_of(notice: Notice) -> tuple[Part, ...]:
    return tuple(part for part in _parts(notice) if part.lines)


def cut(text: str, most: int = MOST_CHARACTERS) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _parts(notice: Notice) -> Iterator[Part]:
    summary = (notice.summary,) if notice.summary else ()
    yield Part(title="", lines=_lines((notice.cause, *summary, *facts(notice))))
    yield Part(title="What rules alone can prove", lines=_lines((notice.proven_by_rules,)))
    yield Part(title="Open: the conclusion needs this, and nothing shows it", lines=_some(notice.open_obligations))
    yield Part(title="Evidence", lines=_evidence(notice))
    steps = [f"{number}. {step.action}: {step.details}" for number, step in enumerate(notice.plan, start=1)]
    yield Part(title="Plan", lines=_some(steps))
    yield Part(title="Not known", lines=_some(notice.gaps))
    yield Part(title="Next", lines=_lines(how_to_go_on(notice)))


def _evidence(notice: Notice) -> tuple[PartLine, ...]:
    lines: list[PartLine] = []
    for index, quote in enumerate(notice.evidence[:MOST_ENTRIES]):
        lines.append(PartLine(text=cut(f"[{index}] {quote.shows} ({quote.place})")))
        rest = f" … and {quote.cut} characters more" if quote.cut else ""
        lines.append(PartLine(text=f"{quote.text}{rest}", is_quote=True))
    return (*lines, *_rest(len(notice.evidence)))


def _some(entries: Sequence[str]) -> tuple[PartLine, ...]:
    return (*_lines(entries[:MOST_ENTRIES]), *_rest(len(entries)))


def _rest(count: int) -> tuple[PartLine, ...]:
    return (PartLine(text=f"and {count - MOST_ENTRIES} more"),) if count > MOST_ENTRIES else ()


def _lines(texts: Sequence[str]) -> tuple[PartLine, ...]:
    return tuple(PartLine(text=cut(text)) for text in texts if text)
