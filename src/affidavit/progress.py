"""Work that somebody waits for: it reports how far it is, and stops soon after nobody waits any more."""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

Report = Callable[[float, float | None, str], None]
"""How much is done, of how much (None: nobody knows), and a word on it. Called by any thread; must not block."""


class Abandoned(BaseException):
    """Nobody waits for this work. Like KeyboardInterrupt it is no error: no handler of errors may record it as one."""


class Waiting:
    """Shared by the thread that works and the one that waits."""

    def __init__(self, report: Report | None = None) -> None:
        self._report = report
        self._abandoned = threading.Event()
        self._before = self._furthest = 0.0

    def next_stage(self) -> "Waiting":
        """What is told from here on comes on top of what was told before: one call may do several things in turn."""
        self._before = self._furthest
        return self

    def abandon(self) -> None:
        self._abandoned.set()

    def check(self) -> None:
        """Raises Abandoned. Call it at least a few times a second."""
        if self._abandoned.is_set():
            raise Abandoned

    def tell(self, done: float, total: float | None, message: str) -> None:
        """Raises Abandoned."""
        self.check()
        so_far = self._before + done
        self._furthest = max(self._furthest, so_far)
        if self._report is not None:
            self._report(so_far, None if total is None else self._before + total, message)


_NOBODY: Final = Waiting()
_current: ContextVar[Waiting] = ContextVar("waiting", default=_NOBODY)


def who_waits() -> Waiting:
    """Of this thread's work; threads that it starts do not inherit it."""
    return _current.get()


@contextmanager
def waited_for_by(waiting: Waiting) -> Generator[None]:
    token = _current.set(waiting)
    try:
        yield
    finally:
        _current.reset(token)
