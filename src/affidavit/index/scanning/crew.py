"""Scans many files with several workers while they are still being unpacked.

A worker is a forked process on Linux, else a thread. Each takes whole files and sends its results at the end. The
number of workers changes only the time taken.
"""

import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import TracebackType

from affidavit.errors import InvariantBroken
from affidavit.index.scanning.scan import FileScan, ScannedFile, failed_scan, scan_buffer
from affidavit.index.scanning.slots import RuleSlots

# Tell a worker about growth this often, so that it is never far behind the unpacking.
GROWTH = 1 << 20
# Fewer bytes are scanned sooner than workers start.
WORTH_A_CREW = 24 << 20
# A worker hears of small files together.
_TOLD_AT_ONCE = 32
_HITS_AT_ONCE = 20_000
_FILES_AT_ONCE = 64
_NUMBER = 4
_NO_MORE = b"\xff" * _NUMBER


@dataclass(frozen=True, kw_only=True)
class _Grown:
    """`size` bytes of the file can be read; `is_whole` when that is all of it. Rules read it as `read_as`."""

    path: str
    location: str
    size: int
    is_whole: bool
    read_as: str


class Crew:
    """Use as a context: leaving it by an exception stops the workers and drops their work."""

    def __init__(self, slots: RuleSlots, workers: int) -> None:
        self._workers = [_Follower(slots) for _ in range(max(1, workers))]
        self._load = [0] * len(self._workers)
        self._owner: dict[str, int] = {}
        self._told: dict[str, int] = {}

    def __enter__(self) -> "Crew":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.stop()

    def grown(self, path: str, location: Path, size: int, read_as: str) -> None:
        if size - self._told.get(path, 0) >= GROWTH:
            self._tell(path, location, size, read_as, is_whole=False)

    def finished(self, path: str, location: Path, size: int, read_as: str) -> None:
        self._tell(path, location, size, read_as, is_whole=True)

    def results(self) -> dict[str, ScannedFile]:
        """Wait for the workers. Raises InvariantBroken when one of them died: a scan is whole or it failed."""
        for worker in self._workers:
            worker.send(None)
        found: dict[str, ScannedFile] = {}
        for worker in self._workers:
            found.update((scanned.path, scanned) for scanned in worker.results())
        return found

    def _tell(self, path: str, location: Path, size: int, read_as: str, *, is_whole: bool) -> None:
        if path not in self._owner:
            self._owner[path] = self._load.index(min(self._load))
        owner = self._owner[path]
        self._load[owner] += size - self._told.get(path, 0)
        self._told[path] = size
        grown = _Grown(path=path, location=str(location), size=size, is_whole=is_whole, read_as=read_as)
        self._workers[owner].send(grown)


def scan_files(files: Mapping[str, Path], slots: RuleSlots, workers: int) -> dict[str, ScannedFile]:
    """Scan files that are already there. Whoever is free takes the next, largest first."""
    whole = [
        _Grown(path=path, location=str(location), size=location.stat().st_size, is_whole=True, read_as=path)
        for path, location in files.items()
    ]
    if sum(task.size for task in whole) < WORTH_A_CREW:
        return _scan_here(whole, slots)
    whole.sort(key=lambda task: -task.size)
    # Numbers of four bytes in a pipe: a read of one number is never torn between two readers.
    numbers, write_end = os.pipe()
    crew = [_start(_work_through, slots, whole, numbers) for _ in range(max(1, workers))]
    try:
        # The workers hold the write end too, so each is told where the list ends.
        with os.fdopen(write_end, "wb") as queue:
            queue.write(b"".join(number.to_bytes(_NUMBER, "little") for number in range(len(whole))))
            queue.write(_NO_MORE * len(crew))
        return {scanned.path: scanned for worker in crew for scanned in worker.results()}
    finally:
        for worker in crew:
            worker.stop()
        os.close(numbers)


def _scan_here(whole: list[_Grown], slots: RuleSlots) -> dict[str, ScannedFile]:
    bench = _Bench(slots)
    for task in whole:
        bench.do(task)
    return {scanned.path: scanned for scanned in bench.finished}


def _work_through(bench: "_Bench", tasks: list[_Grown], numbers: int) -> None:
    while (taken := os.read(numbers, _NUMBER)) != _NO_MORE:
        bench.do(tasks[int.from_bytes(taken, "little")])


class _Worker:
    """A process or thread at work, and the pipe on which its results will come."""

    def __init__(self, runner: BaseProcess | threading.Thread, done: Connection) -> None:
        self._runner = runner
        self._done = done

    def results(self) -> list[ScannedFile]:
        found: list[ScannedFile] = []
        try:
            while isinstance(answer := _receive(self._done), list):
                found.extend(answer)  # pyright: ignore[reportUnknownArgumentType]  # sent by `_run`
        except EOFError as error:
            raise _died() from error
        self._runner.join()
        if answer is None:
            return found
        raise InvariantBroken(f"the scan failed: {answer}")

    def stop(self) -> None:
        self._done.close()
        if isinstance(self._runner, threading.Thread):
            self._runner.join()
        elif self._runner.is_alive():
            self._runner.terminate()
            self._runner.join()


class _Follower(_Worker):
    """A worker that is told about files as they grow."""

    def __init__(self, slots: RuleSlots) -> None:
        self._waiting: list[_Grown | None] = []
        take, self._tasks = multiprocessing.Pipe(duplex=False)
        started = _start(_follow, slots, take, self._tasks)
        super().__init__(started._runner, started._done)
        if not isinstance(self._runner, threading.Thread):
            take.close()

    def send(self, task: _Grown | None) -> None:
        """None is the end of tasks."""
        self._waiting.append(task)
        is_small = task is not None and task.is_whole and task.size < GROWTH
        if is_small and len(self._waiting) < _TOLD_AT_ONCE:
            return
        waiting, self._waiting = self._waiting, []
        try:
            self._tasks.send(waiting)
        except (BrokenPipeError, ConnectionError) as error:
            raise _died() from error

    def stop(self) -> None:
        self._tasks.close()
        super().stop()


def _follow(bench: "_Bench", take: Connection, tasks: Connection) -> None:
    if multiprocessing.parent_process() is not None:
        # Our copy of the parent's end: closed, so that a dead parent is seen as the end of tasks.
        tasks.close()
    while True:
        for task in take.recv():
            if task is None:
                return
            bench.do(task)


def _died() -> InvariantBroken:
    return InvariantBroken(
        "a scanning process ended before its work was done, so nothing is reported",
        hint="it may have been killed for want of memory; try again with --workers 1",
    )


def _start(work: Callable[..., None], slots: RuleSlots, *arguments: object) -> _Worker:
    """Run `work` on a bench of its own: forked where that is safe, else in a thread."""
    done, give = multiprocessing.Pipe(duplex=False)
    if sys.platform == "linux" and threading.active_count() == 1:
        context = multiprocessing.get_context("fork")
        process = context.Process(target=_run_forked, args=(work, slots, give, done, arguments), daemon=True)
        process.start()
        give.close()
        return _Worker(process, done)
    thread = threading.Thread(target=_run, args=(work, slots, give, arguments), daemon=True)
    thread.start()
    return _Worker(thread, done)


def _run_forked(
    work: Callable[..., None], slots: RuleSlots, give: Connection, done: Connection, arguments: tuple[object, ...]
) -> None:
    done.close()
    # Ctrl-C is the parent's to handle.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _run(work, slots, give, arguments)
    os._exit(0)


def _run(work: Callable[..., None], slots: RuleSlots, give: Connection, arguments: tuple[object, ...]) -> None:
    bench = _Bench(slots)
    try:
        work(bench, *arguments)
        while bench.finished:
            _send(give, bench.hand_over())
        _send(give, None)
    except (EOFError, BrokenPipeError):
        pass  # the parent gave up
    except Exception as error:  # noqa: BLE001  # the door of the worker: the parent raises it again
        _send(give, f"{type(error).__name__}: {error}")
    finally:
        bench.close()
        give.close()


def _send(give: Connection, answer: object) -> None:
    """Columns of numbers go by themselves, one at a time: in one message with the rest they would stand in memory three
    times."""
    columns: list[pickle.PickleBuffer] = []
    head = pickle.dumps(answer, protocol=5, buffer_callback=columns.append)
    give.send((head, [column.raw().nbytes for column in columns]))
    for column in columns:
        give.send_bytes(column.raw())


def _receive(done: Connection) -> object:
    head, sizes = done.recv()
    columns = [bytearray(size) for size in sizes]
    for column in columns:
        done.recv_bytes_into(column)
    return pickle.loads(head, buffers=columns)


class _Bench:
    def __init__(self, slots: RuleSlots) -> None:
        self._slots = slots
        self._buffer = scan_buffer()
        self._open: dict[str, FileScan] = {}
        self._failed: set[str] = set()
        self.finished: list[ScannedFile] = []

    def hand_over(self) -> list[ScannedFile]:
        """Some of the finished files: many small ones, or one with many hits."""
        some: list[ScannedFile] = []
        while (
            self.finished and sum(len(scanned.hits) for scanned in some) < _HITS_AT_ONCE and len(some) < _FILES_AT_ONCE
        ):
            some.append(self.finished.pop())
        return some

    def do(self, task: _Grown) -> None:
        if task.path in self._failed:
            return
        try:
            scan = self._scan_of(task)
            if task.is_whole:
                self.finished.append(scan.finish(task.size))
                self._close(task.path)
            else:
                scan.advance(task.size)
        except OSError as error:
            self._close(task.path)
            self._failed.add(task.path)
            self.finished.append(failed_scan(task.path, task.size, error.strerror or str(error)))

    def close(self) -> None:
        """Of files that were refused while they grew, no end is ever told."""
        for path in [*self._open]:
            self._close(path)

    def _scan_of(self, task: _Grown) -> FileScan:
        if task.path not in self._open:
            self._open[task.path] = FileScan(
                task.path, Path(task.location), self._slots, self._buffer, read_as=task.read_as
            )
        return self._open[task.path]

    def _close(self, path: str) -> None:
        if (scan := self._open.pop(path, None)) is not None:
            scan.close()
