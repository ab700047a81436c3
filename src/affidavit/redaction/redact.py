"""Hide what must not leave, in one text: `[REDACTED:type]` stands where it was, every line stays on its number."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from operator import itemgetter

from affidavit.redaction.detector import Entity
from affidavit.redaction.engine import Engine, Span
from affidavit.redaction.inquiry import Inquiry
from affidavit.redaction.pattern import Kind
from affidavit.redaction.patterns import load_patterns

# Texts as long as an excerpt, and so many that a few large answers fit: some megabytes at most.
_SHORT = 600
_REMEMBERED = 16_384
_MARKER = re.compile(rb"\[REDACTED:[a-z0-9_]+\]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Redacted:
    text: str
    counts: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Redactor:
    """Secrets always; personal data with `hides_personal`, and then also what a service knows, where one is asked."""

    hides_personal: bool = False
    inquiry: Inquiry | None = None

    def secrets(self, text: str) -> Redacted:
        """For names and paths: they must still lead somewhere, so only secrets go."""
        return _hide_known(text, Kind.SECRET)

    def known(self, text: str) -> Redacted:
        """By patterns alone: nobody is asked."""
        return _hide_known(text, Kind.SECRET, Kind.PERSONAL) if self.hides_personal else self.secrets(text)

    def redact(self, text: str) -> Redacted:
        """Raises UpstreamFailed when the service cannot say: then nobody knows what the text holds."""
        known = self.known(text)
        if not self.hides_personal or self.inquiry is None:
            return known
        reply = self.inquiry.ask([known.text])[known.text]
        if reply.failure is not None:
            raise reply.failure
        told = hide_entities(known.text, reply.entities)
        return Redacted(text=told.text, counts=Counter(known.counts) + Counter(told.counts))


def hide_entities(text: str, entities: Sequence[Entity]) -> Redacted:
    """In a text whose secrets are hidden already; a marker that an entity touches goes whole."""
    if not entities:
        return Redacted(text=text, counts={})
    offsets = _byte_offsets(text, [at for entity in entities for at in (entity.start, entity.end)])
    return _hide(text, [], [Span(offsets[entity.start], offsets[entity.end], entity.type) for entity in entities])


def _byte_offsets(text: str, characters: Sequence[int]) -> dict[int, int]:
    found: dict[int, int] = {}
    at, size = 0, 0
    for character in sorted(set(characters)):
        size += len(text[at:character].encode("utf-8", "surrogatepass"))
        found[character] = size
        at = character
    return found


@cache
def _engine(kind: Kind) -> Engine:
    return Engine(load_patterns()[kind])


def _hide_known(text: str, *kinds: Kind) -> Redacted:
    """By patterns alone, which say the same of the same text: answers about one index repeat most of theirs."""
    return _remembered(text, kinds) if len(text) <= _SHORT else _hide(text, [_engine(kind) for kind in kinds], ())


@lru_cache(maxsize=_REMEMBERED)
def _remembered(text: str, kinds: tuple[Kind, ...]) -> Redacted:
    return _hide(text, [_engine(kind) for kind in kinds], ())


def _hide(text: str, engines: Sequence[Engine], found: Sequence[Span]) -> Redacted:
    raw = text.encode("utf-8", "surrogatepass")
    spans = _outside_markers([*(span for engine in engines for span in engine.spans(raw)), *found], raw)
    if not spans:
        return Redacted(text=text, counts={})
    parts: list[bytes] = []
    counts: Counter[str] = Counter()
    at = 0
    for span in sorted(spans):
        if span.end <= at:
            continue
        if span.start >= at:
            counts[span.type] += 1
            parts += [raw[at : span.start], f"[REDACTED:{span.type}]".encode()]
        # A span that begins inside the one before goes with it.
        parts.append(b"\n" * raw.count(b"\n", max(at, span.start), span.end))
        at = span.end
    parts.append(raw[at:])
    return Redacted(text=b"".join(parts).decode("utf-8", "surrogatepass"), counts=dict(counts))


def _outside_markers(spans: Sequence[Span], raw: bytes) -> Sequence[Span]:
    """`[REDACTED:type]` of an earlier pass is not redacted again; one that is touched goes whole."""
    if not spans or b"[REDACTED:" not in raw:
        return spans
    markers = [match.span() for match in _MARKER.finditer(raw)]
    grown = (_grown(span, markers) for span in spans)
    return [span for span in grown if span is not None]


def _grown(span: Span, markers: Sequence[tuple[int, int]]) -> Span | None:
    """None inside a marker."""
    first, last = _marker_at(span.start, markers), _marker_at(span.end - 1, markers)
    if first is not None and span.end <= first[1]:
        return None
    return Span(first[0] if first else span.start, last[1] if last else span.end, span.type)


def _marker_at(offset: int, markers: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    at = bisect_right(markers, offset, key=itemgetter(0)) - 1
    return markers[at] if at >= 0 and offset < markers[at][1] else None
