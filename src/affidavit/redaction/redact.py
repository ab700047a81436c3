"""Replaces secrets in one text by `[REDACTED:type]`. Line numbers do not change."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from operator import itemgetter

from affidavit.redaction.batched_detection import PersonalDataInquiry
from affidavit.redaction.cut_off_secrets import SHORTEST_UNNAMED, CutOff
from affidavit.redaction.engine import Engine, Span
from affidavit.redaction.pattern import PatternKind
from affidavit.redaction.pattern_loading import load_patterns
from affidavit.redaction.personal_data_detector import Entity
from affidavit.redaction.scan import Scanner

# Texts as long as an excerpt, and so many that a few large answers fit: some megabytes at most.
_SHORT = 600
_REMEMBERED = 16_384
# Any word can be the beginning of a mail address; where personal data is hidden, the last one of a cut text goes.
_SHORTEST_PERSONAL = 3
_MARKER = re.compile(rb"\[REDACTED:[a-z0-9_]+\]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Redacted:
    text: str
    counts: Mapping[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Around:
    """What stood before and behind a text where it was taken from; `is_cut` when its end was cut off and is not known.

    A secret that begins in one and ends in the other is hidden in the part that leaves.
    """

    before: str = ""
    after: str = ""
    is_cut: bool = False


ALONE = Around()


@dataclass(frozen=True, kw_only=True)
class Redactor:
    """Secrets always; personal data with `hides_personal`, and then also what a service knows, where one is asked."""

    hides_personal: bool = False
    inquiry: PersonalDataInquiry | None = None

    def secrets(self, text: str, around: Around = ALONE) -> Redacted:
        """For names and paths: they must still lead somewhere, so only secrets go."""
        return _hide_known(text, (PatternKind.SECRET,), around)

    def known(self, text: str, around: Around = ALONE) -> Redacted:
        """By patterns alone: nobody is asked."""
        return _hide_known(text, tuple(PatternKind), around) if self.hides_personal else self.secrets(text, around)

    def hidden(self, raw: bytes) -> list[Span]:
        """Where stored bytes would be hidden, by patterns alone; ascending, and some may overlap."""
        kinds = tuple(PatternKind) if self.hides_personal else (PatternKind.SECRET,)
        return sorted(span for kind in kinds for span in _finder(kind)(raw))

    def redact(self, text: str, around: Around = ALONE) -> Redacted:
        """Raises UpstreamFailed when the service cannot say: then nobody knows what the text holds."""
        known = self.known(text, around)
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
    return _hide(text, [Span(offsets[entity.start], offsets[entity.end], entity.type) for entity in entities])


def _byte_offsets(text: str, characters: Sequence[int]) -> dict[int, int]:
    found: dict[int, int] = {}
    at, size = 0, 0
    for character in sorted(set(characters)):
        size += len(_raw(text[at:character]))
        found[character] = size
        at = character
    return found


@cache
def _finder(kind: PatternKind) -> Callable[[bytes], list[Span]]:
    patterns = load_patterns()[kind]
    match kind:
        case PatternKind.SECRET:
            return Scanner(patterns).spans
        case PatternKind.PERSONAL:
            return Engine(patterns).spans


@cache
def _cut_off(kind: PatternKind) -> CutOff:
    shortest = SHORTEST_UNNAMED if kind is PatternKind.SECRET else _SHORTEST_PERSONAL
    return CutOff(load_patterns()[kind], shortest_unnamed=shortest)


def _hide_known(text: str, kinds: tuple[PatternKind, ...], around: Around) -> Redacted:
    """By patterns alone, which say the same of the same text: answers about one index repeat most of theirs."""
    if len(text) > _SHORT or around.before or around.after:
        return _hide(text, _known_spans(text, kinds, around))
    return _remembered(text, kinds, around.is_cut)


@lru_cache(maxsize=_REMEMBERED)
def _remembered(text: str, kinds: tuple[PatternKind, ...], is_cut: bool) -> Redacted:
    return _hide(text, _known_spans(text, kinds, Around(is_cut=True) if is_cut else ALONE))


def _known_spans(text: str, kinds: tuple[PatternKind, ...], around: Around) -> list[Span]:
    own = _raw(text)
    if around is ALONE:
        return _spans_of(own, kinds)
    before = _raw(around.before)
    whole = b"".join((before, own, _raw(around.after)))
    spans = _spans_of(whole, kinds)
    if around.is_cut:
        spans = spans + [span for kind in kinds for span in _cut_off(kind).spans(before + own)]
    return [*_inside(spans, len(before), len(own))] if len(whole) > len(own) else spans


def _spans_of(text: bytes, kinds: tuple[PatternKind, ...]) -> list[Span]:
    # The word in `[REDACTED:password]` of an earlier pass names no password.
    if b"[REDACTED:" in text:
        text = _MARKER.sub(lambda marker: b"[" + b"." * (len(marker[0]) - 2) + b"]", text)
    return _finder(kinds[0])(text) if len(kinds) == 1 else [span for kind in kinds for span in _finder(kind)(text)]


def _inside(spans: Sequence[Span], start: int, size: int) -> Iterator[Span]:
    """The part of each span that lies in the text itself, counted from its beginning."""
    for span in spans:
        first, last = max(0, span.start - start), min(size, span.end - start)
        if first < last:
            yield Span(first, last, span.type)


def _raw(text: str) -> bytes:
    return text.encode() if text.isascii() else text.encode("utf-8", "surrogatepass")


def _hide(text: str, found: Sequence[Span]) -> Redacted:
    raw = _raw(text) if found else b""
    spans = _outside_markers(found, raw)
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
