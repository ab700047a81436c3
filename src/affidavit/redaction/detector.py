"""The port for a service that knows personal data by context, such as Amazon Comprehend."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from affidavit.redaction.engine import Span

# Longer than any name or address. What the seam cuts in two is whole in one of two neighbours.
OVERLAP = 256


@dataclass(frozen=True, kw_only=True, slots=True)
class Entity:
    """Characters `start` to `end` (exclusive) of the text asked about."""

    start: int
    end: int
    type: str


class PersonalDetector(Protocol):
    @property
    def most_characters(self) -> int:
        """How much text one question may hold; more than OVERLAP."""
        ...

    def find(self, text: str) -> Sequence[Entity]:
        """Raises UpstreamFailed."""
        ...


def detect_in_pieces(detector: PersonalDetector, text: str) -> list[Span]:
    """Spans in the bytes of `text`, all of which is asked about, however long it is."""
    entities = {
        (at + entity.start, at + entity.end, entity.type.lower())
        for at, piece in pieces(text, detector.most_characters)
        for entity in detector.find(piece)
    }
    return [Span(_bytes(text[:start]), _bytes(text[:end]), kind) for start, end, kind in sorted(entities)]


def pieces(text: str, size: int) -> Iterator[tuple[int, str]]:
    """Pieces with where they begin; neighbours share OVERLAP characters."""
    step = size - OVERLAP
    for at in range(0, max(1, len(text) - OVERLAP), step):
        yield at, text[at : at + size]


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
