"""A program stopped at any boundary leaves a table or store that still keeps its promises."""

import multiprocessing
import signal
from pathlib import Path

import pytest

from affidavit.errors import UpstreamFailed
from affidavit.ports.object_store import ObjectStore
from affidavit.ports.table import Absent, ConditionFailed, Key, Put, Table
from tests.contracts.places import Place
from tests.support.faults import Boundaries, FailingObjectStore, FailingTable, sigkill

ONE, TWO = Key(pk="p", sk="one"), Key(pk="p", sk="two")


def program(table: Table, objects: ObjectStore) -> None:
    """Claims, stores, and records that it stored, in one transaction."""
    objects.put("bundle/x", b"all of it", purpose="test")
    table.write(Put(item={"pk": "p", "sk": "claim"}, when=Absent()))
    table.write_all([Put(item={"pk": "p", "sk": key.sk}) for key in (ONE, TWO)])


def killed(folder: Path, at: int) -> None:
    place, boundaries = Place(folder=folder, environment={}, bucket="", tables=("one", "two")), Boundaries(at, sigkill)
    program(FailingTable(place.table(), boundaries), FailingObjectStore(place.objects(), boundaries))


def test_boundaries_are_counted_in_order_with_both_sides_of_each_call(table: Table, tmp_path: Path) -> None:
    boundaries = Boundaries()
    store = FailingObjectStore(Place(folder=tmp_path, environment={}, bucket="").objects(), boundaries)
    program(FailingTable(table, boundaries), store)
    calls = ("objects.put", f"{table.name}.write", f"{table.name}.write_all")
    assert boundaries.reached == [f"{call} {side}" for call in calls for side in ("before", "after")]


@pytest.mark.parametrize("at", range(6))
def test_a_killed_process_leaves_whole_objects_and_whole_transactions(tmp_path: Path, at: int) -> None:
    child = multiprocessing.get_context("spawn").Process(target=killed, args=(tmp_path, at))
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
    place = Place(folder=tmp_path, environment={}, bucket="", tables=("one", "two"))
    assert [stored.size for stored in place.objects().list("")] == ([9] if at >= 1 else [])
    present = [place.table().get(key) is not None for key in (ONE, TWO)]
    assert present == [at >= 5] * 2
    assert (place.table().get(Key(pk="p", sk="claim")) is not None) == (at >= 3)


def test_an_outage_before_a_write_writes_nothing_and_after_it_everything(table: Table) -> None:
    for number, is_written in ((0, False), (1, True)):
        failing = FailingTable(table, Boundaries(at=number))
        with pytest.raises(UpstreamFailed):
            failing.write(Put(item={"pk": "p", "sk": str(number)}, when=Absent()))
        assert (table.get(Key(pk="p", sk=str(number))) is not None) == is_written


def test_wrapped_tables_take_part_in_a_transaction(table: Table, other_table: Table) -> None:
    wrapped = FailingTable(other_table, Boundaries())
    FailingTable(table, Boundaries()).write_all([Put(item={"pk": "a", "sk": "b"}, when=Absent(), table=wrapped)])
    assert other_table.get(Key(pk="a", sk="b")) is not None
    with pytest.raises(ConditionFailed):
        table.write_all([Put(item={"pk": "a", "sk": "b"}, when=Absent(), table=wrapped)])
