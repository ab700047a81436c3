"""What is wrong in a generated bundle, by file and line. It never names a rule."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One trouble in one file. The same trouble in a second copy of a log is a second problem.

    In a rotated `.gz` file lines are counted in the unpacked text; a file of a nested archive is named
    `<archive>/<member>`.
    """

    fault: str
    file: str
    severity: str
    lines: tuple[int, ...]
    count: int
    first_time: datetime | None
    last_time: datetime | None
    text: str
    """A distinctive piece, as the file spells it, of every line in `lines`."""
    context: tuple[int, ...] = ()
    """Other lines of the same events (stack, memory report): a finding there is right, yet counts no event."""
    any_line: bool = False
    """Only its lines together show it (a job that runs too often), so finding one of them is enough."""


@dataclass(frozen=True, kw_only=True)
class BundleTruth:
    """Everything wrong in a bundle, by file and first line. Empty means healthy."""

    problems: tuple[Problem, ...]
    silent: frozenset[tuple[str, int]] = frozenset()
    """Lines (file, line) that look like trouble and that no finding may name, however low its severity."""

    def in_file(self, file: str) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.file == file)
