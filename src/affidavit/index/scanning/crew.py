"""Scans many files with several workers while they are still being unpacked.

A worker is a forked process on Linux, else a thread. Whoever is free takes the next part of a file, in the end also
who waits for the results. The number of workers changes only the time taken.
"""

import multiprocessing
import os
import pickle
import signal
import socket
import sys
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Protocol

from affidavit.errors import InvariantBroken
from affidavit.index.scanning.parts import Cutter, FilePart, ScannedFile, ScannedPart, joined
from affidavit.index.scanning.rule_matching import RuleSlots
from affidavit.index.scanning.scan import PartScan, scan_buffer

# Fewer bytes are scanned sooner than workers start.
WORTH_A_CREW = 24 << 20
# Small files are given to a worker together.
_SMALL = 1 << 20
_GIVEN_AT_ONCE = 32
_HITS_AT_ONCE = 20_000
_PARTS_AT_ONCE = 64
_LONGEST_MESSAGE = 1 << 20


class Crew:
    """Use as a context: leaving it by an exception stops the workers and drops their work.

    Without helpers, parts are scanned here as soon as they are told.
    """

    def __init__(self, slots: RuleSlots, helpers: int) -> None:
        can_fork = sys.platform == "linux" and threading.active_count() == 1
        self._tasks: _Tasks = _SharedTasks() if can_fork else _ThreadTasks()
        start = _forked if can_fork else _threaded
        self._workers = [start(slots, self._tasks) for _ in range(helpers)]
        self._bench = _Bench(slots)
        self._small: list[FilePart] = []
        self._cutters: dict[str, Cutter] = {}
        self._whole: set[str] = set()

    def __enter__(self) -> "Crew":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tasks.close()
        for worker in self._workers:
            worker.stop()

    def grown(self, path: str, location: Path, size: int, read_as: str) -> None:
        self._give_all(self._cutter(path, location, read_as).grown(size))

    def finished(self, path: str, location: Path, size: int, read_as: str) -> None:
        self._give_all(self._cutter(path, location, read_as).finished(size))
        self._whole.add(path)

    def results(self) -> dict[str, ScannedFile]:
        """Help, and wait for the workers. Raises InvariantBroken when one died: a scan is whole or it failed."""
        self._give(self._small)
        self._tasks.end()
        self._bench.work_through(self._tasks)
        found: dict[str, list[ScannedPart]] = {path: [] for path in self._whole}
        for scanned in (*self._bench.finished, *(each for worker in self._workers for each in worker.results())):
            # Of a file that was refused while it grew, no end was ever told.
            found.get(scanned.part.path, []).append(scanned)
        in_order = {path: sorted(parts, key=lambda each: each.part.start) for path, parts in found.items()}
        return {path: joined(parts, self._bench.scan_wrapped) for path, parts in in_order.items()}

    def _cutter(self, path: str, location: Path, read_as: str) -> Cutter:
        if path not in self._cutters:
            self._cutters[path] = Cutter(path, location, read_as)
        return self._cutters[path]

    def _give_all(self, parts: Iterable[FilePart]) -> None:
        for part in parts:
            self._small.append(part)
            if part.end - part.start >= _SMALL or len(self._small) == _GIVEN_AT_ONCE:
                self._give(self._small)
                self._small = []

    def _give(self, parts: list[FilePart]) -> None:
        """Where nobody takes them, or too many wait, they are scanned here."""
        if parts and not (self._workers and self._tasks.put(parts)):
            self._bench.do(parts)


def scan_files(files: Mapping[str, Path], slots: RuleSlots, workers: int) -> dict[str, ScannedFile]:
    """Scan files that are already there, largest first."""
    sizes = {path: location.stat().st_size for path, location in files.items()}
    with Crew(slots, workers - 1 if sum(sizes.values()) >= WORTH_A_CREW else 0) as crew:
        for path in sorted(sizes, key=lambda path: -sizes[path]):
            crew.finished(path, files[path], sizes[path], path)
        return crew.results()


class _Tasks(Protocol):
    """Parts that wait for somebody who is free."""

    def put(self, parts: list[FilePart]) -> bool:
        """False where no more can wait."""
        ...

    def take(self) -> list[FilePart]:
        """Waits for some; nothing at the end of tasks."""
        ...

    def end(self) -> None: ...
    def close(self) -> None: ...


class _SharedTasks:
    """Between processes. A message of such a socket goes whole to one of those who wait for it."""

    def __init__(self) -> None:
        self._give, self._take = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def put(self, parts: list[FilePart]) -> bool:
        try:
            self._give.send(pickle.dumps(parts), socket.MSG_DONTWAIT)
        except OSError:
            return False
        return True

    def take(self) -> list[FilePart]:
        message = self._take.recv(_LONGEST_MESSAGE)
        return pickle.loads(message) if message else []

    def end(self) -> None:
        self._give.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._give.close()
        self._take.close()

    def only_take(self) -> None:
        """For a worker: the end of the process that gives is then seen as the end of tasks."""
        self._give.close()


class _ThreadTasks:
    def __init__(self) -> None:
        self._waiting: SimpleQueue[list[FilePart]] = SimpleQueue()

    def put(self, parts: list[FilePart]) -> bool:
        self._waiting.put(parts)
        return True

    def take(self) -> list[FilePart]:
        parts = self._waiting.get()
        if not parts:
            self.end()  # for the next one who asks
        return parts

    def end(self) -> None:
        self._waiting.put([])

    def close(self) -> None:
        with suppress(Empty):
            while True:
                self._waiting.get_nowait()
        self.end()


class _Worker:
    """A process or thread at work, and the pipe on which its results will come."""

    def __init__(self, runner: BaseProcess | threading.Thread, done: Connection) -> None:
        self._runner = runner
        self._done = done

    def results(self) -> list[ScannedPart]:
        found: list[ScannedPart] = []
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


def _died() -> InvariantBroken:
    return InvariantBroken(
        "a scanning process ended before its work was done, so nothing is reported",
        hint="it may have been killed for want of memory; try again with --workers 1",
    )


def _forked(slots: RuleSlots, tasks: _Tasks) -> _Worker:
    done, give = multiprocessing.Pipe(duplex=False)
    context = multiprocessing.get_context("fork")
    process = context.Process(target=_run_forked, args=(slots, tasks, give, done), daemon=True)
    process.start()
    give.close()
    return _Worker(process, done)


def _threaded(slots: RuleSlots, tasks: _Tasks) -> _Worker:
    done, give = multiprocessing.Pipe(duplex=False)
    thread = threading.Thread(target=_run, args=(slots, tasks, give), daemon=True)
    thread.start()
    return _Worker(thread, done)


def _run_forked(slots: RuleSlots, tasks: _SharedTasks, give: Connection, done: Connection) -> None:
    done.close()
    tasks.only_take()
    # Ctrl-C is the parent's to handle.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _run(slots, tasks, give)
    os._exit(0)


def _run(slots: RuleSlots, tasks: _Tasks, give: Connection) -> None:
    bench = _Bench(slots)
    try:
        bench.work_through(tasks)
        while bench.finished:
            _send(give, bench.hand_over())
        _send(give, None)
    except (EOFError, BrokenPipeError):
        pass  # the parent gave up
    except Exception as error:  # noqa: BLE001  # the door of the worker: the parent raises it again
        _send(give, f"{type(error).__name__}: {error}")
    finally:
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
        self.finished: list[ScannedPart] = []

    def work_through(self, tasks: _Tasks) -> None:
        while parts := tasks.take():
            self.do(parts)

    def do(self, parts: Iterable[FilePart]) -> None:
        self.finished.extend(self._scanned(part) for part in parts)

    def scan_wrapped(self, part: FilePart) -> ScannedPart:
        return self._scanned(part, is_wrapped=True)

    def hand_over(self) -> list[ScannedPart]:
        """Some of the finished parts: many small ones, or one with many hits."""
        some: list[ScannedPart] = []
        while (
            self.finished and sum(len(scanned.hits) for scanned in some) < _HITS_AT_ONCE and len(some) < _PARTS_AT_ONCE
        ):
            some.append(self.finished.pop())
        return some

    def _scanned(self, part: FilePart, *, is_wrapped: bool = False) -> ScannedPart:
        try:
            return PartScan(part, self._slots, self._buffer, is_wrapped=is_wrapped).scan()
        except OSError as error:
            return ScannedPart(part=part, failure=error.strerror or str(error))
