"""Shows a progress line on a terminal, and nothing elsewhere."""

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from affidavit.bundle.unpack import UnpackProgress


class _Silent:
    def unpacked(self, path: str, consumed: int, stored: int) -> None:
        pass


class _Bar:
    """Redrawn by hand, at most ten times a second: no thread, so workers can be forked at any time."""

    def __init__(self, total: int | None) -> None:
        self._total = total
        self._next_draw = 0.0
        self._furthest = self._most = 0

    def unpacked(self, path: str, consumed: int, stored: int) -> None:
        now = time.monotonic()
        if now < self._next_draw:
            return
        self._next_draw = now + 0.1
        # A nested archive counts its bytes from zero, but the line never goes back.
        self._furthest, self._most = max(self._furthest, consumed), max(self._most, stored)
        share = f"{min(100, 100 * self._furthest / self._total):3.0f} %  " if self._total else ""
        line = f"{share}{self._most / 1e6:,.0f} MB unpacked and scanned  {path}"
        sys.stderr.write("\r\x1b[2K" + "".join(char if char.isprintable() else "?" for char in line[:100]))
        sys.stderr.flush()

    def clear(self) -> None:
        sys.stderr.write("\r\x1b[2K")
        sys.stderr.flush()


@contextmanager
def progress_line(path: Path, *, is_quiet: bool) -> Generator[UnpackProgress]:
    if is_quiet or not sys.stderr.isatty():
        yield _Silent()
        return
    bar = _Bar(path.stat().st_size if path.is_file() else None)
    try:
        yield bar
    finally:
        bar.clear()
