"""Runs the tests in several processes, forked once everything is collected: `--workers 5`.

Importing and collecting takes a quarter of a minute; here it is paid once, and what it loaded is shared by all workers.
Tests that share a set-up (`together`) run in one worker, one after the other. A worker that dies ends the run.
"""

import gc
import os
import pickle
import traceback
from collections.abc import Iterator, Sequence
from itertools import groupby
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, NoReturn

import pytest

TOGETHER = pytest.StashKey[str]()
Batch = Sequence[int]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", type=int, default=0, help="processes that run the tests; 0: this one does")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    if session.config.option.workers == 0 or session.config.option.collectonly or session.testsfailed:
        return None
    session.config._tmp_path_factory.getbasetemp()  # in which each worker has a folder
    gc.collect()
    gc.freeze()  # else each worker would look through all of it, and so copy it
    crowd = Crowd(session)
    for number in range(session.config.option.workers):
        crowd.add(number)
    crowd.run()
    return True


class Crowd:
    """The workers, seen from the process that collected. It hands out batches of tests and reports what it hears."""

    def __init__(self, session: pytest.Session) -> None:
        self._session, self._busy = session, dict[Connection, int]()
        self._batches = iter(batches(session.items))

    def add(self, number: int) -> None:
        ours, theirs = Pipe()
        pid = os.fork()
        if pid == 0:
            for other in (ours, *self._busy):
                other.close()
            _work(self._session, number, theirs)
        theirs.close()
        self._busy[ours] = pid

    def run(self) -> None:
        while self._busy:
            for worker in wait([*self._busy]):
                self._hear(worker)

    def _hear(self, worker: Connection) -> None:
        try:
            told = pickle.loads(worker.recv_bytes())
        except EOFError:
            self._bury(worker)
            return
        if told is None:
            worker.send(next(self._batches, None))
        else:
            hook = self._session.config.hook
            hook.pytest_runtest_logreport(
                report=hook.pytest_report_from_serializable(config=self._session.config, data=told)
            )

    def _bury(self, worker: Connection) -> None:
        _, status = os.waitpid(self._busy.pop(worker), 0)
        if status != 0:
            for other in self._busy.values():
                os.kill(other, 9)
            pytest.exit(f"a worker ended with {os.waitstatus_to_exitcode(status)}; its last tests never ran", 3)


def batches(items: Sequence[pytest.Item]) -> Iterator[Batch]:
    """Positions of tests that belong together, in the order of the first of each."""
    names = [item.stash.get(TOGETHER, None) or f"{position}" for position, item in enumerate(items)]
    first = {name: position for position, name in reversed([*enumerate(names)])}
    order = sorted(range(len(items)), key=lambda position: (first[names[position]], position))
    for _, batch in groupby(order, key=lambda position: names[position]):
        yield [*batch]


# --- in a worker -----------------------------------------------------------------------------------------------------


def _work(session: pytest.Session, number: int, boss: Connection) -> NoReturn:
    """Ends the process without what the parent would do when it ends: that is the parent's."""
    try:
        _settle_in(session.config, number, boss)
        for batch in iter(lambda: _asked(boss), None):
            _run(session, [session.items[position] for position in batch])
        session._setupstate.teardown_exact(None)  # fixtures of the session; pytest has no public name for it
    except BaseException:  # noqa: BLE001 - whatever it was, the parent's end is not ours
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _asked(boss: Connection) -> Batch | None:
    boss.send_bytes(pickle.dumps(None))
    return boss.recv()


def _run(session: pytest.Session, items: Sequence[pytest.Item]) -> None:
    """After the last one everything is torn down but what belongs to the session."""
    for item, after in zip(items, [*items[1:], session], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)


def _settle_in(config: pytest.Config, number: int, boss: Connection) -> None:
    """Own files for output, an own folder for temporary files; reports go to the boss and not to the terminal."""
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    # Not stopped, which would close them: what was imported may hold the streams of the collection.
    capture.suspend_global_capture(in_=True)
    capture._of_collection, capture._global_capturing = capture._global_capturing, None
    capture.start_global_capturing()
    folders: Any = config._tmp_path_factory
    folders._basetemp /= f"worker-{number}"
    folders._basetemp.mkdir(mode=0o700)
    config.pluginmanager.unregister(name="terminalreporter")
    config.pluginmanager.register(Messenger(config, boss))


class Messenger:
    def __init__(self, config: pytest.Config, boss: Connection) -> None:
        self._config, self._boss = config, boss

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        told = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._boss.send_bytes(pickle.dumps(told))
