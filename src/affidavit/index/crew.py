"""Scan many files with several workers while they are still being unpacked.

A worker is a process where the platform can fork cheaply, else a thread; each takes whole files, and hands over
what it found when everything is done. How many there are changes nothing but the time taken.
"""

import multiprocessing
import os
import signal
import sys
import threading
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import TracebackType

from affidavit.errors import InvariantBroken
from affidavit.index.scan import BLOCK, FileScan, ScannedFile, failed_scan
from affidavit.index.slots import RuleSlots

# Tell a worker about growth this often, so that it is never far behind the unpacking.
GROWTH = 1 << 20


@dataclass(frozen=True, kw_only=True)
class _Grown:
    """`size` bytes of the file can be read; `is_whole` when that is all of it."""

    path: str
    location: Path
    size: int
    is_whole: bool


class Crew:
    """Use as a context: leaving it by an exception stops the workers and drops their work."""

    def __init__(self, slots: RuleSlots, workers: int) -> None:
        self._workers = [_start_worker(slots) for _ in range(max(1, workers))]
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

    def grown(self, path: str, location: Path, size: int) -> None:
        if size - self._told.get(path, 0) >= GROWTH:
            self._tell(path, location, size, is_whole=False)

    def finished(self, path: str, location: Path, size: int) -> None:
        self._tell(path, location, size, is_whole=True)

    def results(self) -> dict[str, ScannedFile]:
        """Wait for the workers. Raises InvariantBroken when one of them died: a scan is whole or it failed."""
        for worker in self._workers:
            worker.ask_for_results()
        found: dict[str, ScannedFile] = {}
        for worker in self._workers:
            found.update((scanned.path, scanned) for scanned in worker.results())
        return found

    def _tell(self, path: str, location: Path, size: int, *, is_whole: bool) -> None:
        if path not in self._owner:
            self._owner[path] = self._load.index(min(self._load))
        owner = self._owner[path]
        self._load[owner] += size - self._told.get(path, 0)
        self._told[path] = size
        self._workers[owner].send(_Grown(path=path, location=location, size=size, is_whole=is_whole))


def scan_files(files: dict[str, Path], slots: RuleSlots, workers: int) -> dict[str, ScannedFile]:
    """Scan files that are already there, largest first."""
    sizes = {path: location.stat().st_size for path, location in files.items()}
    with Crew(slots, workers) as crew:
        for path in sorted(files, key=lambda path: -sizes[path]):
            crew.finished(path, files[path], sizes[path])
        return crew.results()


class _Worker:
    def __init__(self, runner: "BaseProcess | threading.Thread", tasks: Connection, done: Connection) -> None:
        self._runner = runner
        self._tasks = tasks
        self._done = done

    def send(self, task: _Grown | None) -> None:
        try:
            self._tasks.send(task)
        except (BrokenPipeError, ConnectionError) as error:
            raise _died() from error

    def ask_for_results(self) -> None:
        self.send(None)

    def results(self) -> list[ScannedFile]:
        try:
            answer = self._done.recv()
        except EOFError as error:
            raise _died() from error
        self._runner.join()
        if isinstance(answer, list):
            return answer  # pyright: ignore[reportUnknownVariableType]  # pickled by `_work`
        raise InvariantBroken(f"the scan failed: {answer}")

    def stop(self) -> None:
        self._tasks.close()
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


def _start_worker(slots: RuleSlots) -> _Worker:
    take, tasks = multiprocessing.Pipe(duplex=False)
    done, give = multiprocessing.Pipe(duplex=False)
    if sys.platform == "linux" and threading.active_count() == 1:
        context = multiprocessing.get_context("fork")
        process = context.Process(target=_work_in_process, args=(slots, take, give, tasks, done), daemon=True)
        process.start()
        take.close()
        give.close()
        return _Worker(process, tasks, done)
    thread = threading.Thread(target=_work, args=(slots, take, give), daemon=True)
    thread.start()
    return _Worker(thread, tasks, done)


def _work_in_process(slots: RuleSlots, take: Connection, give: Connection, tasks: Connection, done: Connection) -> None:
    # The parent's ends came along with the fork: closed, so that a dead parent is seen as the end of tasks.
    tasks.close()
    done.close()
    # Ctrl-C is the parent's to handle.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _work(slots, take, give)
    os._exit(0)


def _work(slots: RuleSlots, take: Connection, give: Connection) -> None:
    bench = _Bench(slots)
    try:
        while (task := take.recv()) is not None:
            bench.do(task)
        give.send(bench.finished)
    except EOFError:
        pass  # the parent gave up
    except Exception as error:  # noqa: BLE001  # the door of the worker: the parent raises it again
        give.send(f"{type(error).__name__}: {error}")
    finally:
        give.close()


class _Bench:
    def __init__(self, slots: RuleSlots) -> None:
        self._slots = slots
        self._buffer = bytearray(BLOCK)
        self._open: dict[str, FileScan] = {}
        self._failed: set[str] = set()
        self.finished: list[ScannedFile] = []

    def do(self, task: _Grown) -> None:
        if task.path in self._failed:
            return
        try:
            scan = self._open.pop(task.path, None) or self._start(task)
            if task.is_whole:
                self.finished.append(scan.finish(task.size))
            else:
                scan.advance(task.size)
                self._open[task.path] = scan
        except OSError as error:
            self._failed.add(task.path)
            self.finished.append(failed_scan(task.path, task.size, error.strerror or str(error)))

    def _start(self, task: _Grown) -> FileScan:
        return FileScan(task.path, task.location, self._slots, self._buffer)
