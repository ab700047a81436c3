"""The port for a service that detects personal data, such as Amazon Comprehend, and how long texts are split for it.

Secrets are hidden before a text is asked about: the service is told of none.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

# Longer than any name or address. What a seam cuts in two is whole in one of two neighbours.
OVERLAP = 256
_LONE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Entity:
    """Characters (code points) `start` to `end` (exclusive) of the text asked about."""

    start: int
    end: int
    type: str


class PersonalDetector(Protocol):
    @property
    def most_bytes(self) -> int:
        """How much text, in UTF-8, one question may hold; more than eight times OVERLAP."""
        ...

    def find(self, text: str) -> Sequence[Entity]:
        """`text` is valid Unicode and not empty. Raises UpstreamFailed."""
        ...


def detect_in_pieces(detector: PersonalDetector, text: str) -> list[Entity]:
    """All of `text` is asked about, however long it is."""
    found = {
        (at + entity.start, at + entity.end, entity.type)
        for at, piece in pieces(_sayable(text), detector.most_bytes)
        for entity in detector.find(piece)
    }
    return [Entity(start=start, end=end, type=kind) for start, end, kind in sorted(found)]


def pieces(text: str, most_bytes: int) -> Iterator[tuple[int, str]]:
    """Pieces with where they begin. They end at line ends; a line that is too long goes in pieces that overlap."""
    at = 0
    while at < len(text):
        piece = _fitting(text, at, most_bytes)
        yield at, piece
        end = at + len(piece)
        at = end if end == len(text) else _next(text, end)


def _fitting(text: str, at: int, most_bytes: int) -> str:
    # A character takes a byte at least, so more characters than bytes never fit.
    piece = text[at : at + most_bytes].encode()[:most_bytes].decode("utf-8", "ignore")
    if at + len(piece) == len(text):
        return piece
    line_end = piece.rfind("\n", len(piece) // 2)
    return piece[: line_end + 1] if line_end >= 0 else piece


def _next(text: str, end: int) -> int:
    """The first line that begins within OVERLAP of the seam, or OVERLAP characters before it."""
    feed = text.find("\n", end - OVERLAP, end)
    return feed + 1 if feed >= 0 else end - OVERLAP


def _sayable(text: str) -> str:
    """Half of a surrogate pair cannot be sent; what stands for it takes one character, too."""
    return text if text.isascii() else _LONE.sub("\ufffd", text)
