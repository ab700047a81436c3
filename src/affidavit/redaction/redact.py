"""Hide what must not leave, in one text: `[REDACTED:type]` stands where it was, every line stays on its number."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from operator import itemgetter

from affidavit.redaction.detector import PersonalDetector, detect_in_pieces
from affidavit.redaction.engine import Engine, Span
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
    """Secrets always; personal data with `hides_personal`, also asking `detector` where there is one."""

    hides_personal: bool = False
    detector: PersonalDetector | None = None

    def secrets(self, text: str) -> Redacted:
        """For names and paths: they must still lead somewhere, so only secrets go."""
        return _hide_known(text, Kind.SECRET)

    def redact(self, text: str) -> Redacted:
        """Raises UpstreamFailed when the detector cannot say: then nobody knows what the text holds."""
        if not self.hides_personal:
            return self.secrets(text)
        if self.detector is None:
            return _hide_known(text, Kind.SECRET, Kind.PERSONAL)
        found = detect_in_pieces(self.detector, text)
        return _hide(text, [_engine(Kind.SECRET), _engine(Kind.PERSONAL)], found)


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
    """`[REDACTED:type]` of an earlier pass is not redacted again."""
    if not spans or b"[REDACTED:" not in raw:
        return spans
    markers = [match.span() for match in _MARKER.finditer(raw)]
    return [span for span in spans if not _is_inside(span, markers)]


def _is_inside(span: Span, markers: Sequence[tuple[int, int]]) -> bool:
    at = bisect_right(markers, span.start, key=itemgetter(0)) - 1
    return at >= 0 and span.end <= markers[at][1]
