"""Log lines quoted inside tool answers are re-read from the bundle, whatever the answer says about them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeGuard

from pydantic import TypeAdapter, ValidationError

from affidavit.evidence.citation_check import ByteSource
from affidavit.evidence.finding import Evidence
from affidavit.index.redacted import check_redacted
from affidavit.ports.json import JsonValue
from affidavit.verification.pointer_lookup import Located

_MARKS = frozenset(("full_key", "byte_offset", "sha256", "excerpt"))
_EVIDENCE = TypeAdapter(Evidence)


def unread_quotes(located: Located, source: ByteSource | None) -> list[str]:
    """Problems of these lines. A quote may be the stored line with secrets hidden, as long as its digest is known."""
    return [problem for quote in quotes_of(located) for problem in _reread(quote, source)]


def quotes_of(located: Located) -> Iterator[Mapping[str, JsonValue]]:
    """Every quoted line that the located value is part of, or that is part of it."""
    for around in located.path[:-1]:
        if isinstance(around, Mapping):
            yield from (one for one in (around, around.get("evidence")) if _is_quote(one))
    yield from _inside(located.value)


def _inside(value: JsonValue) -> Iterator[Mapping[str, JsonValue]]:
    if _is_quote(value):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _inside(inner)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            yield from _inside(inner)


def _is_quote(value: JsonValue) -> TypeGuard[Mapping[str, JsonValue]]:
    return isinstance(value, Mapping) and value.keys() >= _MARKS


def _reread(quote: Mapping[str, JsonValue], source: ByteSource | None) -> list[str]:
    try:
        evidence = _EVIDENCE.validate_python(dict(quote))
    except ValidationError:
        return ["it quotes a log line whose place cannot be read"]
    line = evidence.line_range.start if evidence.line_range is not None else "?"
    place = f"{evidence.source_file}:{line}"
    if source is None:
        return [f"the quote of {place} could not be re-read: its bundle is not at hand"]
    return [
        f"the quote of {place} does not re-read: {problem}" for problem in check_redacted(evidence, source).problems
    ]
