"""Arranges a notice for a screen: a few titled parts of bounded length that a chat channel draws in its own way.

A channel takes messages up to a size. `fitting` draws with ever fewer words until one is taken: a message that is
refused tells nobody.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from affidavit.incidents.notices.plain_text import facts, how_to_go_on
from affidavit.ports.json import JsonValue
from affidavit.ports.notice_record import Notice, NoticeQuote

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Detail:
    """How many entries a part has, and how many characters an entry."""

    entries: int
    characters: int


USUAL = Detail(entries=5, characters=MOST_CHARACTERS)
_LESS = (Detail(entries=5, characters=250), Detail(entries=3, characters=120), Detail(entries=1, characters=60))


def fitting(draw: Callable[[Detail], JsonValue], *, most: int) -> JsonValue:
    """The drawing with the most detail that has at most so many bytes as JSON; the shortest one where none has."""
    drawn = draw(USUAL)
    for detail in _LESS:
        if len(json.dumps(drawn)) <= most:
            break
        drawn = draw(detail)
    return drawn


def parts_of(notice: Notice, detail: Detail = USUAL) -> tuple[Part, ...]:
    return tuple(part for part in _Arranged(notice, detail).parts() if part.lines)


def cut(text: str, most: int = MOST_CHARACTERS) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


@dataclass(frozen=True)
class _Arranged:
    notice: Notice
    detail: Detail

    def parts(self) -> Iterator[Part]:
        notice = self.notice
        summary = (notice.summary,) if notice.summary else ()
        yield Part(title="", lines=self._lines((notice.cause, *summary, *facts(notice))))
        yield Part(title="What rules alone can prove", lines=self._lines((notice.proven_by_rules,)))
        yield Part(
            title="Open: the conclusion needs this, and nothing shows it", lines=self._some(notice.open_obligations)
        )
        yield Part(title="Evidence", lines=self._evidence())
        steps = [f"{number}. {step.action}: {step.details}" for number, step in enumerate(notice.plan, start=1)]
        yield Part(title="Plan", lines=self._some(steps))
        yield Part(title="Not known", lines=self._some(notice.gaps))
        yield Part(title="Next", lines=self._lines(how_to_go_on(notice)))

    def _evidence(self) -> tuple[PartLine, ...]:
        lines: list[PartLine] = []
        for index, quote in enumerate(self.notice.evidence[: self.detail.entries]):
            lines.append(PartLine(text=self._cut(f"[{index}] {quote.shows} ({quote.place})")))
            lines.append(PartLine(text=self._quoted(quote), is_quote=True))
        return (*lines, *self._rest(len(self.notice.evidence)))

    def _quoted(self, quote: NoticeQuote) -> str:
        text = quote.text[: self.detail.characters]
        left_out = quote.cut + len(quote.text) - len(text)
        return f"{text} … and {left_out} characters more" if left_out else text

    def _some(self, entries: Sequence[str]) -> tuple[PartLine, ...]:
        return (*self._lines(entries[: self.detail.entries]), *self._rest(len(entries)))

    def _rest(self, count: int) -> tuple[PartLine, ...]:
        more = count - self.detail.entries
        return (PartLine(text=f"and {more} more"),) if more > 0 else ()

    def _lines(self, texts: Sequence[str]) -> tuple[PartLine, ...]:
        return tuple(PartLine(text=self._cut(text)) for text in texts if text)

    def _cut(self, text: str) -> str:
        return cut(text, self.detail.characters)
