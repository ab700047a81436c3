"""Matches with RE2 at first, and with Hyperscan once that pays.

RE2 is ready at once. Hyperscan's engine of all rules takes as long to build as RE2 needs for some megabytes, so a small
bundle never waits for it, and a large one waits as before. Both find the same lines.
"""

import time
from collections.abc import Callable
from typing import Protocol

# Hyperscan is built from here on: after so many bytes, or seconds of RE2 on text that is hard for it.
FEW_BYTES = 4 << 20
FEW_SECONDS = 1.0
# RE2 is given so much at once: it cannot be interrupted.
_PIECE = 64 << 10


class _Scans(Protocol):
    def scan(self, block: bytearray, length: int) -> list[int]: ...


class ThriftyMatcher:
    """A matcher like the others; `lasting` builds the one that stays."""

    def __init__(self, quick: _Scans, lasting: Callable[[], _Scans], *, room: int, slot_bits: int) -> None:
        self._quick, self._lasting = quick, lasting
        self._room, self._slot_bits = room, slot_bits
        self._bytes, self._seconds = FEW_BYTES, FEW_SECONDS

    def scan(self, block: bytearray, length: int) -> list[int]:
        self._bytes -= length
        hits: list[int] = []
        at = 0
        while at < length and self._is_quick:
            end = self._end_of_piece(block, at, length)
            hits += self._shifted(self._timed(block[at:end]), at)
            at = end
        return hits if at >= length else hits + self._rest(block, at, length)

    @property
    def _is_quick(self) -> bool:
        return self._bytes >= 0 and self._seconds > 0

    def _end_of_piece(self, block: bytearray, at: int, length: int) -> int:
        feed = block.find(b"\n", min(at + _PIECE, length), length)
        return length if feed < 0 else feed + 1

    def _timed(self, piece: bytearray) -> list[int]:
        started = time.thread_time()
        hits = self._quick.scan(piece + bytes(self._room), len(piece))
        self._seconds -= time.thread_time() - started
        return hits

    def _rest(self, block: bytearray, at: int, length: int) -> list[int]:
        if at == 0:
            return self._lasting().scan(block, length)
        return self._shifted(self._lasting().scan(block[at : length + self._room], length - at), at)

    def _shifted(self, hits: list[int], by: int) -> list[int]:
        return [hit + (by << self._slot_bits) for hit in hits] if by else hits
