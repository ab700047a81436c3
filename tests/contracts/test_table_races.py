"""Many writers at once, in threads and in processes: a table lets one of them win."""

import multiprocessing
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

from affidavit.ports.table import Absent, AtMost, ConditionFailed, Equals, Key, Put, Table, Update
from tests.contracts.places import Place

WRITERS = 12
KEYS = 10


def claims_of(table: Table, writer: int) -> list[int]:
    """The keys that this writer got."""
    return [number for number in range(KEYS) if _claims(table, number, writer)]


def _claims(table: Table, number: int, writer: int) -> bool:
    try:
        table.write(Put(item={"pk": f"IDEMP#{number}", "sk": "S", "owner": writer}, when=Absent()))
    except ConditionFailed as lost:
        assert lost.existing is not None
        return False
    return True


def claim_in_a_process(place: Place, writer: int) -> list[int]:
    table = place.table()
    won = claims_of(table, writer)
    for _ in range(KEYS):
        table.write(Update(key=Key(pk="COUNT", sk="S"), add={"n": 1}))
    return won


def in_threads(work: Callable[[int], list[int]]) -> list[list[int]]:
    start = threading.Barrier(WRITERS)

    def together(writer: int) -> list[int]:
        start.wait(30)
        return work(writer)

    with ThreadPoolExecutor(WRITERS) as pool:
        return list(pool.map(together, range(WRITERS)))


def test_of_many_threads_one_claims_each_key(table: Table) -> None:
    won = in_threads(lambda writer: claims_of(table, writer))
    assert sorted(key for keys in won for key in keys) == list(range(KEYS))
    for writer, keys in enumerate(won):
        assert {table.get(Key(pk=f"IDEMP#{key}", sk="S"))["owner"] for key in keys} <= {writer}


def test_processes_and_threads_together_claim_each_key_once_and_lose_no_count(table_place: Place) -> None:
    table_place.table().get(Key(pk="made", sk="before"))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(3, mp_context=context) as pool:
        won = [future.result(60) for future in [pool.submit(claim_in_a_process, table_place, n) for n in range(3)]]
    assert sorted(key for keys in won for key in keys) == list(range(KEYS))
    assert table_place.table().get(Key(pk="COUNT", sk="S"))["n"] == 3 * KEYS


def test_a_new_sqlite_file_may_be_opened_by_all_at_once(table_place: Place) -> None:
    in_threads(lambda writer: claims_of(table_place.table(), writer))
    assert len(table_place.table().query("IDEMP#0")) == 1


def test_no_count_is_lost_or_doubled(table: Table) -> None:
    def count(_writer: int) -> list[int]:
        return [table.write(Update(key=Key(pk="c", sk="c"), add={"n": 1}))["n"] for _ in range(KEYS)]

    seen = sorted(number for numbers in in_threads(count) for number in numbers)
    assert seen == list(range(1, WRITERS * KEYS + 1))


def test_exactly_twenty_of_many_pass_a_breaker(table: Table) -> None:
    key = Key(pk="BREAKER", sk="hour")
    table.write(Put(item={"pk": key.pk, "sk": key.sk, "n": 0}))

    def pass_through(_writer: int) -> list[int]:
        passed: list[int] = []
        for attempt in range(KEYS):
            try:
                table.write(Update(key=key, add={"n": 1}, when=AtMost("n", 19)))
                passed.append(attempt)
            except ConditionFailed:
                pass
        return passed

    assert sum(len(passed) for passed in in_threads(pass_through)) == 20


def test_of_many_transactions_over_two_tables_one_wins(table: Table, other_table: Table) -> None:
    table.write(Put(item={"pk": "i", "sk": "s", "epoch": 0}))

    def finish(writer: int) -> list[int]:
        try:
            table.write_all(
                [
                    Update(key=Key(pk="i", sk="s"), set={"epoch": 1, "by": writer}, when=Equals("epoch", 0)),
                    Put(item={"pk": "i", "sk": "s", "by": writer}, when=Absent(), table=other_table),
                ]
            )
        except ConditionFailed:
            return []
        return [writer]

    winners = [writer for won in in_threads(finish) for writer in won]
    assert len(winners) == 1
    assert table.get(Key(pk="i", sk="s"))["by"] == other_table.get(Key(pk="i", sk="s"))["by"] == winners[0]
