"""Run competitors in turn, round after round, and compare them within each round."""

import os
import resource
import statistics
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

Case = Callable[[], None]


@dataclass
class Timing:
    seconds: list[float] = field(default_factory=list[float])
    cpu: list[float] = field(default_factory=list[float])

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def cores_busy(self) -> float:
        """CPU time over wall time and cores: 1.0 is every core busy all the time."""
        cores = os.cpu_count() or 1
        return statistics.median(cpu / wall / cores for cpu, wall in zip(self.cpu, self.seconds, strict=True))


def run_rounds(cases: Mapping[str, Case], rounds: int, between: Case = lambda: None) -> dict[str, Timing]:
    """Each round runs every case once, in rotating order; `between` cleans up and is not timed."""
    timings = {name: Timing() for name in cases}
    names = list(cases)
    for number in range(rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            between()
            started, cpu = time.perf_counter(), _cpu_seconds()
            cases[name]()
            timings[name].seconds.append(time.perf_counter() - started)
            timings[name].cpu.append(_cpu_seconds() - cpu)
    between()
    return timings


def speed_ratio(timings: Mapping[str, Timing], ours: str, peer: str) -> float:
    """How many times as fast as the peer: the median of the rounds' own ratios."""
    pairs = zip(timings[ours].seconds, timings[peer].seconds, strict=True)
    return statistics.median(theirs / mine for mine, theirs in pairs)


def _cpu_seconds() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


class TreeMemory:
    """The most memory a process and its descendants held together, shared pages counted once."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._is_over = threading.Event()
        self.peak = 0
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> int:
        self._is_over.set()
        self._thread.join()
        return self.peak

    def _watch(self) -> None:
        while not self._is_over.wait(0.02):
            self.peak = max(self.peak, sum(_proportional(pid) for pid in _tree(self._root)))


def _tree(root: int) -> list[int]:
    found = [root]
    for pid in found:
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                found.extend(int(child) for child in task.read_text().split())
            except OSError:
                continue
    return found


def _proportional(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
