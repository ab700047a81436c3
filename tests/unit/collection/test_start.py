"""A caller that dies between any two calls to the outside leaves nothing that a later caller cannot carry on."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.fleet import NODE, Fleet

from affidavit.collection.collect import collect
from affidavit.collection.history import history
from affidavit.collection.requests import CollectRequest, HistoryRequest
from affidavit.errors import Conflict, InvariantBroken, UpstreamFailed
from affidavit.ports.json import Item
from affidavit.ports.table import Table, Update, Write

CALLS = ("get", "write", "write_all", "query", "start", "region_of", "cluster_of")


class Killed(BaseException):
    """No handler of ours catches it, as none would run after a SIGKILL."""


class Deadly:
    """Passes calls on and dies at the n-th boundary; each call has one before and one after it."""

    def __init__(self, inner: object, boundaries: Iterator[int], deadly: int, death: BaseException) -> None:
        self._inner, self._boundaries, self._deadly, self._death = inner, boundaries, deadly, death

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        return self._guarded(value) if name in CALLS else value

    def _guarded(self, call: Callable[..., object]) -> Callable[..., object]:
        def guarded(*args: object, **options: object) -> object:
            self._step()
            result = call(*args, **options)
            self._step()
            return result

        return guarded

    def _step(self) -> None:
        if next(self._boundaries) == self._deadly:
            raise self._death


def dies_at(fleet: Fleet, deadly: int, token: str | None, death: BaseException) -> bool:
    """Whether the caller got as far as this boundary."""
    boundaries = iter(range(10_000))
    desk = replace(
        fleet.desk,
        state=Deadly(fleet.table, boundaries, deadly, death),
        collector=Deadly(fleet.collector, boundaries, deadly, death),
        directory=Deadly(fleet.directory, boundaries, deadly, death),
    )
    try:
        collect(CollectRequest(instance_id=NODE, idempotency_token=token), desk)
    except type(death):
        return True
    return False


@pytest.mark.parametrize("death", [Killed(), UpstreamFailed("the network is gone", is_retryable=True)], ids=repr)
@pytest.mark.parametrize("token", ["t", None])
def test_whoever_dies_anywhere_the_next_caller_gets_the_one_execution(
    tmp_path: Path, token: str | None, death: BaseException
) -> None:
    boundary = 0
    while True:
        fleet = Fleet(tmp_path / str(boundary))
        if not dies_at(fleet, boundary, token, death):
            break
        fleet.clock.pass_by(timedelta(seconds=91))
        answer = collect(CollectRequest(instance_id=NODE, idempotency_token=token), fleet.desk)
        assert list(fleet.collector.executions) == [answer.execution_id], boundary
        assert list(fleet.collector.by_token.values()) == [answer.execution_id], boundary
        listed = history(HistoryRequest(), fleet.desk).collections
        assert [entry.execution_id for entry in listed] == [answer.execution_id], boundary
        boundary += 1
    assert boundary >= 12


def test_a_dead_holder_keeps_its_reservation_until_the_lease_ends(fleet: Fleet) -> None:
    def die() -> None:
        raise Killed

    fleet.collector.before_start = die
    with pytest.raises(Killed):
        collect(CollectRequest(instance_id=NODE, idempotency_token="t"), fleet.desk)
    fleet.collector.before_start = lambda: None
    fleet.clock.pass_by(timedelta(seconds=89))
    with pytest.raises(Conflict):
        collect(CollectRequest(instance_id=NODE, idempotency_token="t"), fleet.desk)
    fleet.clock.pass_by(timedelta(seconds=1))
    assert not collect(CollectRequest(instance_id=NODE, idempotency_token="t"), fleet.desk).idempotent


class Together:
    """A table whose first two updates wait for each other: both callers have read before either writes."""

    def __init__(self, inner: Table) -> None:
        self._inner, self._barrier, self._turns = inner, threading.Barrier(2), iter(range(2))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def write(self, write: Write) -> Item | None:
        if isinstance(write, Update) and next(self._turns, None) is not None:
            self._barrier.wait(10)
        return self._inner.write(write)


def test_of_two_callers_that_see_the_same_dead_holder_one_takes_over(fleet: Fleet) -> None:
    def die() -> None:
        raise Killed

    fleet.collector.before_start = die
    request = CollectRequest(instance_id=NODE, idempotency_token="t")
    with pytest.raises(Killed):
        collect(request, fleet.desk)
    fleet.collector.before_start = lambda: time.sleep(0.05)
    fleet.clock.pass_by(timedelta(seconds=91))
    desk = replace(fleet.desk, state=Together(fleet.table), pause=time.sleep)
    with ThreadPoolExecutor(max_workers=2) as pool:
        answers = list(pool.map(lambda _: collect(request, desk), range(2)))
    assert len({answer.execution_id for answer in answers}) == 1
    assert len(fleet.collector.regions) == 1, "both asked SSM"


def test_two_executions_for_one_client_token_are_never_passed_over_in_silence(fleet: Fleet) -> None:
    """A service that breaks its promise: it starts anew for a ClientToken it has seen."""
    turns: list[str] = []

    def a_second_caller_comes_first() -> None:
        turns.append("turn")
        if len(turns) == 1:
            fleet.clock.pass_by(timedelta(seconds=91))
            collect(CollectRequest(instance_id=NODE, idempotency_token="t"), fleet.desk)
            fleet.collector.by_token.clear()

    fleet.collector.before_start = a_second_caller_comes_first
    with pytest.raises(InvariantBroken, match="two executions"):
        collect(CollectRequest(instance_id=NODE, idempotency_token="t"), fleet.desk)
