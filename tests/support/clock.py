"""The clock of all tests: a `Clock` that a test sets and moves."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

MORNING = datetime(2026, 1, 15, 10, 0, 30, tzinfo=UTC)


@dataclass
class FakeClock:
    """Shows `at` until it is moved. Each reading moves it by `step`."""

    at: datetime = MORNING
    step: timedelta = timedelta()

    def now(self) -> datetime:
        self.at += self.step
        return self.at

    def pass_by(self, time: timedelta) -> None:
        self.at += time


@dataclass
class ClockAhead:
    """The real time and some more, for waits that real servers must see pass."""

    ahead: timedelta = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead
