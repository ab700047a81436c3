"""A recorded answer as lines of JSON, with the value that a pointer names lit."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from affidavit.ports.json import JsonValue
from affidavit.verification.pointer_lookup import Located, NotLocated, locate

WINDOW: Final = 80
_LEAD: Final = 12
_LONGEST_TEXT: Final = 400
_AROUND_QUOTE: Final = 1_500


@dataclass(frozen=True, kw_only=True, slots=True)
class LitPart:
    text: str
    is_lit: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerLine:
    number: int
    parts: tuple[LitPart, ...]

    @property
    def is_lit(self) -> bool:
        return any(part.is_lit for part in self.parts)


@dataclass(frozen=True, kw_only=True, slots=True)
class LitAnswer:
    """Some lines of the answer, which has `total`; `lit_at` is the first lit one, None when the place is not there."""

    lines: tuple[AnswerLine, ...]
    total: int
    lit_at: int | None

    @property
    def before(self) -> int | None:
        """Where the lines before these begin."""
        first = self.lines[0].number if self.lines else 1
        return max(1, first - WINDOW) if first > 1 else None

    @property
    def behind(self) -> int | None:
        last = self.lines[-1].number if self.lines else 0
        return last + 1 if last < self.total else None


def lit_answer(answer: JsonValue, field: str, quote: JsonValue, *, first: int | None = None) -> LitAnswer:
    """The lines around the lit value, or from `first` on."""
    located = locate(field, answer)
    target = None if isinstance(located, NotLocated) else _tokens(field, located)
    lines = [
        AnswerLine(number=number, parts=parts) for number, parts in enumerate(_Lines(target, quote).of(answer), start=1)
    ]
    lit_at = next((line.number for line in lines if line.is_lit), None)
    start = max(1, first if first is not None else (lit_at or 1) - _LEAD)
    return LitAnswer(lines=tuple(lines[start - 1 : start - 1 + WINDOW]), total=len(lines), lit_at=lit_at)


def _tokens(field: str, located: Located) -> tuple[str, ...]:
    """The keys and places from the whole answer down to the value."""
    if field == "" or field.startswith("/"):
        return tuple(token.replace("~1", "/").replace("~0", "~") for token in field.split("/")[1:])
    return tuple(_step_between(around, inside) for around, inside in pairwise(located.path))


def _step_between(around: JsonValue, inside: JsonValue) -> str:
    pairs = around.items() if isinstance(around, Mapping) else enumerate(_listed(around))
    return next((str(name) for name, value in pairs if value is inside), "")


def _listed(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


@dataclass(frozen=True)
class _Lines:
    target: tuple[str, ...] | None
    quote: JsonValue

    def of(self, answer: JsonValue) -> Iterator[tuple[LitPart, ...]]:
        yield from self._value(answer, (), "", "", is_lit=False)

    def _value(
        self, value: JsonValue, path: tuple[str, ...], before: str, behind: str, *, is_lit: bool
    ) -> Iterator[tuple[LitPart, ...]]:
        is_here = path == self.target
        is_lit = is_lit or is_here
        indent = "  " * len(path)
        if isinstance(value, Mapping) and value:
            children = [(str(name), inner, f"{_text(str(name))}: ") for name, inner in value.items()]
            yield from self._around("{", "}", children, path, indent + before, behind, is_lit=is_lit)
        elif not isinstance(value, str) and isinstance(value, Sequence) and value:
            children = [(str(at), inner, "") for at, inner in enumerate(value)]
            yield from self._around("[", "]", children, path, indent + before, behind, is_lit=is_lit)
        else:
            lit = self._quoted(value) if is_here else (LitPart(text=_cut(_text(value)), is_lit=is_lit),)
            yield (LitPart(text=indent + before), *lit, LitPart(text=behind))

    def _around(
        self,
        opening: str,
        closing: str,
        children: Sequence[tuple[str, JsonValue, str]],
        path: tuple[str, ...],
        before: str,
        behind: str,
        *,
        is_lit: bool,
    ) -> Iterator[tuple[LitPart, ...]]:
        yield (LitPart(text=before), LitPart(text=opening, is_lit=is_lit))
        for at, (name, inner, label) in enumerate(children, start=1):
            comma = "," if at < len(children) else ""
            yield from self._value(inner, (*path, name), label, comma, is_lit=is_lit)
        yield (LitPart(text="  " * len(path)), LitPart(text=closing, is_lit=is_lit), LitPart(text=behind))

    def _quoted(self, value: JsonValue) -> tuple[LitPart, ...]:
        """Of a text only the quoted part is lit."""
        text = _text(value)
        quote = _text(self.quote)[1:-1] if isinstance(self.quote, str) and isinstance(value, str) else ""
        at = text.find(quote) if quote else -1
        if at < 0:
            return (LitPart(text=text if len(text) <= 2 * _AROUND_QUOTE else _cut(text), is_lit=True),)
        before, behind = text[:at], text[at + len(quote) :]
        if len(before) > _AROUND_QUOTE:
            before = f"“… {len(before) - _AROUND_QUOTE} characters …{before[-_AROUND_QUOTE:]}"
        return (
            LitPart(text=before),
            LitPart(text=quote, is_lit=True),
            LitPart(text=behind if len(behind) <= _AROUND_QUOTE else _cut(behind, _AROUND_QUOTE)),
        )


def _text(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def _cut(text: str, most: int = _LONGEST_TEXT) -> str:
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most} more characters)"
