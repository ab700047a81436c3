"""What every table promises."""

import math
from collections.abc import Mapping
from datetime import timedelta

import pytest

from affidavit.errors import Conflict, InputRefused, InvariantBroken
from affidavit.ports.json import Item, JsonValue
from affidavit.ports.table import (
    Absent,
    AllOf,
    AnyOf,
    AtMost,
    Condition,
    ConditionFailed,
    Delete,
    Equals,
    Key,
    Lacks,
    Present,
    Put,
    Table,
    Update,
)
from tests.support.clock import FakeClock

KEY = Key(pk="INC#1", sk="META")
HERE: Mapping[str, JsonValue] = {"pk": KEY.pk, "sk": KEY.sk}


def an_item(**attributes: JsonValue) -> Item:
    return {**HERE, **attributes}


def keys(items: object) -> list[str]:
    return [item["sk"] for item in items]


def test_an_item_that_was_never_written_is_none(table: Table) -> None:
    assert table.get(KEY) is None


def test_an_item_reads_back_as_it_was_written(table: Table) -> None:
    item = an_item(
        text="ümlaut \U0001f525 \x00 \n",
        empty="",
        nothing=None,
        yes=True,
        whole=9007199254740993,
        part=0.1,
        negative=-1.5e-9,
        nested={"list": [1, "two", None, {"three": [3.25, False]}], "none": {}},
        items=[],
    )
    assert table.write(Put(item=item)) == item
    read = table.get(KEY)
    assert read == item
    assert read is not None
    assert [type(read[name]) for name in ("yes", "whole", "part")] == [bool, int, float]


def test_a_whole_float_reads_back_as_an_int(table: Table) -> None:
    table.write(Put(item=an_item(count=3.0)))
    read = table.get(KEY)
    assert read is not None
    assert type(read["count"]) is int


def test_a_put_replaces_the_whole_item(table: Table) -> None:
    table.write(Put(item=an_item(old=1)))
    table.write(Put(item=an_item(new=2)))
    assert table.get(KEY) == an_item(new=2)


def test_a_second_new_item_loses_and_sees_the_first(table: Table) -> None:
    table.write(Put(item=an_item(owner="first"), when=Absent()))
    with pytest.raises(ConditionFailed) as lost:
        table.write(Put(item=an_item(owner="second"), when=Absent()))
    assert lost.value.existing == an_item(owner="first")
    assert isinstance(lost.value, Conflict)
    assert table.get(KEY) == an_item(owner="first")


CONDITIONS: list[tuple[Condition, Mapping[str, JsonValue] | None, bool]] = [
    (Absent(), None, True),
    (Absent(), {}, False),
    (Present(), None, False),
    (Present(), {}, True),
    (Equals("a", "x"), {"a": "x"}, True),
    (Equals("a", "x"), {"a": "y"}, False),
    (Equals("a", "x"), {}, False),
    (Equals("a", "x"), None, False),
    (Equals("a", 1), {"a": 1.0}, True),
    (Equals("a", 1), {"a": True}, False),
    (Equals("a", True), {"a": 1}, False),
    (Equals("a", 0), {"a": False}, False),
    (Equals("a", "1"), {"a": 1}, False),
    (Equals("a", None), {"a": None}, True),
    (Equals("a", None), {}, False),
    (Equals("a", [1, {"b": 2}]), {"a": [1, {"b": 2}]}, True),
    (Equals("a", [1, {"b": 2}]), {"a": [1, {"b": True}]}, False),
    (Equals("status", "OPEN"), {"status": "OPEN"}, True),
    (AtMost("a", 5), {"a": 5}, True),
    (AtMost("a", 5), {"a": 5.5}, False),
    (AtMost("a", 5), {"a": "4"}, False),
    (AtMost("a", 5), {"a": True}, False),
    (AtMost("a", 5), {}, False),
    (AtMost("a", 5), None, False),
    (Lacks("a"), {}, True),
    (Lacks("a"), {"a": None}, False),
    (Lacks("a"), None, False),
    (AllOf((Present(), Equals("a", 1))), {"a": 1}, True),
    (AllOf((Present(), Equals("a", 1))), {"a": 2}, False),
    (AnyOf((Absent(), AtMost("lease", 10))), None, True),
    (AnyOf((Absent(), AtMost("lease", 10))), {"lease": 10}, True),
    (AnyOf((Absent(), AtMost("lease", 10))), {"lease": 11}, False),
    (AllOf((AnyOf((Equals("a", 1), Equals("a", 2))), Lacks("b"))), {"a": 2}, True),
    (AllOf((AnyOf((Equals("a", 1), Equals("a", 2))), Lacks("b"))), {"a": 2, "b": 0}, False),
    (AllOf((Absent(),)), None, True),
    (AnyOf((AllOf((Present(),)),)), {}, True),
    (AllOf(()), None, True),
    (AnyOf(()), {}, False),
]


@pytest.mark.parametrize("kind", ["put", "update", "delete", "transaction"])
def test_a_condition_decides_alike_for_every_kind_of_write(table: Table, kind: str) -> None:
    wrong: list[tuple[Condition, object]] = []
    for number, (condition, attributes, expected) in enumerate(CONDITIONS):
        key = Key(pk=f"INC#{number}", sk="META")
        if attributes is not None:
            table.write(Put(item={"pk": key.pk, "sk": key.sk, **attributes}))
        if _is_accepted(table, kind, key, condition) != expected:
            wrong.append((condition, attributes))
    assert wrong == []


def _is_accepted(table: Table, kind: str, key: Key, condition: Condition) -> bool:
    put = Put(item={"pk": key.pk, "sk": key.sk, "new": 1}, when=condition)
    try:
        match kind:
            case "put":
                table.write(put)
            case "update":
                table.write(Update(key=key, set={"new": 1}, when=condition))
            case "delete":
                table.write(Delete(key=key, when=condition))
            case _:
                table.write_all([put])
    except ConditionFailed:
        return False
    return True


def test_an_update_changes_what_it_names_and_returns_the_whole_item(table: Table) -> None:
    table.write(Put(item=an_item(kept="k", gone="g", count=2, changed="before")))
    after = table.write(
        Update(key=KEY, set={"changed": "after", "status": "OPEN"}, add={"count": 3, "fresh": 1}, remove=("gone",))
    )
    assert after == an_item(kept="k", count=5, changed="after", status="OPEN", fresh=1)
    assert table.get(KEY) == after


def test_an_update_of_nothing_makes_the_item(table: Table) -> None:
    assert table.write(Update(key=KEY, add={"count": 1})) == an_item(count=1)
    assert table.write(Update(key=Key(pk="x", sk="y"))) == {"pk": "x", "sk": "y"}


def test_an_update_whose_condition_fails_changes_nothing(table: Table) -> None:
    table.write(Put(item=an_item(epoch=4)))
    with pytest.raises(ConditionFailed) as lost:
        table.write(Update(key=KEY, set={"status": "DONE"}, when=Equals("epoch", 3)))
    assert lost.value.existing == table.get(KEY) == an_item(epoch=4)


def test_adding_to_a_text_is_our_bug(table: Table) -> None:
    table.write(Put(item=an_item(count="many")))
    with pytest.raises(InvariantBroken):
        table.write(Update(key=KEY, add={"count": 1}))


def test_a_deleted_item_is_gone_and_deleting_it_again_is_fine(table: Table) -> None:
    table.write(Put(item=an_item()))
    assert table.write(Delete(key=KEY)) is None
    assert table.get(KEY) is None
    assert table.write(Delete(key=KEY)) is None


# --- expiry ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def expired(table: Table, clock: FakeClock) -> Item:
    """Written alive, expired now, and (in DynamoDB) still stored."""
    item = an_item(ttl=int(clock.at.timestamp()) + 100, owner="dead", count=7, due="lease", due_at=1)
    table.write(Put(item=item))
    assert table.get(KEY) == item
    clock.pass_by(timedelta(seconds=200))
    return item


def test_an_item_expires_at_its_second(table: Table, clock: FakeClock) -> None:
    table.write(Put(item=an_item(ttl=clock.at.timestamp() + 60)))
    clock.pass_by(timedelta(seconds=59.9))
    assert table.get(KEY) is not None
    clock.pass_by(timedelta(seconds=0.2))
    assert table.get(KEY) is None


def test_an_expired_item_is_absent_to_reads(table: Table, expired: Item) -> None:
    assert table.get(KEY) is None
    assert list(table.query(KEY.pk)) == []
    assert list(table.due_before("lease", 10)) == []


def test_an_expired_item_can_be_claimed_anew(table: Table, expired: Item) -> None:
    table.write(Put(item=an_item(owner="new"), when=Absent()))
    assert table.get(KEY) == an_item(owner="new")


@pytest.mark.parametrize("condition", [Present(), Equals("owner", "dead"), AtMost("count", 9), Lacks("nothing")])
def test_no_condition_holds_on_an_expired_item(table: Table, expired: Item, condition: Condition) -> None:
    for write in (
        Put(item=an_item(), when=condition),
        Update(key=KEY, set={"a": 1}, when=condition),
        Delete(key=KEY, when=condition),
    ):
        with pytest.raises(ConditionFailed) as lost:
            table.write(write)
        assert lost.value.existing is None


def test_an_update_of_an_expired_item_starts_from_nothing(table: Table, expired: Item) -> None:
    assert table.write(Update(key=KEY, add={"count": 1})) == an_item(count=1)


def test_a_transaction_updates_an_expired_item_from_nothing(table: Table, other_table: Table, expired: Item) -> None:
    table.write_all([Update(key=KEY, add={"count": 1}), Put(item=an_item(), table=other_table)])
    assert table.get(KEY) == an_item(count=1)
    assert other_table.get(KEY) == an_item()


# --- transactions ----------------------------------------------------------------------------------------------------


def test_a_transaction_writes_every_kind_in_two_tables(table: Table, other_table: Table) -> None:
    for sk in ("update", "delete"):
        table.write(Put(item={"pk": "a", "sk": sk, "n": 1}))
    table.write_all(
        [
            Put(item={"pk": "a", "sk": "put"}, when=Absent()),
            Update(key=Key(pk="a", sk="update"), add={"n": 1}, when=Equals("n", 1)),
            Delete(key=Key(pk="a", sk="delete"), when=Present()),
            Put(item={"pk": "a", "sk": "put", "there": True}, table=other_table),
        ]
    )
    assert table.query("a") == [{"pk": "a", "sk": "put"}, {"pk": "a", "sk": "update", "n": 2}]
    assert other_table.query("a") == [{"pk": "a", "sk": "put", "there": True}]


@pytest.mark.parametrize("loser", [0, 1, 2])
def test_a_transaction_with_one_lost_condition_writes_nothing(table: Table, other_table: Table, loser: int) -> None:
    table.write(Put(item=an_item(epoch=1)))
    writes = [
        Update(key=KEY, set={"epoch": 2}, when=Equals("epoch", 9) if loser == 0 else None),
        Put(item={"pk": "p", "sk": "s"}, when=Present() if loser == 1 else None),
        Put(item={"pk": "p", "sk": "s"}, when=Present() if loser == 2 else None, table=other_table),
    ]
    with pytest.raises(ConditionFailed) as lost:
        table.write_all(writes)
    assert lost.value.existing == (an_item(epoch=1) if loser == 0 else None)
    assert table.get(KEY) == an_item(epoch=1)
    assert table.get(Key(pk="p", sk="s")) is None
    assert other_table.get(Key(pk="p", sk="s")) is None


def test_a_transaction_may_not_name_an_item_twice(table: Table) -> None:
    with pytest.raises(InvariantBroken):
        table.write_all([Put(item=an_item()), Delete(key=KEY)])


def test_a_transaction_of_a_hundred_writes_is_taken_and_of_more_refused(table: Table) -> None:
    writes = [Put(item={"pk": "many", "sk": f"{number:03}"}) for number in range(101)]
    table.write_all(writes[:100])
    assert len(table.query("many")) == 100
    with pytest.raises(InvariantBroken):
        table.write_all(writes)


# --- queries ---------------------------------------------------------------------------------------------------------


def test_a_query_goes_in_byte_order_of_sk(table: Table) -> None:
    names = ["b", "a", "Z", "a/b", "a-b", "ä", "\uffff", "\U0001f525", "10", "9", "a\uffffz"]
    for name in names:
        table.write(Put(item={"pk": "p", "sk": name}))
    table.write(Put(item={"pk": "p2", "sk": "a"}))
    ordered = sorted(names, key=str.encode)
    assert keys(table.query("p")) == ordered
    assert keys(table.query("p", newest_first=True)) == ordered[::-1]
    assert keys(table.query("p", limit=3)) == ordered[:3]
    assert keys(table.query("p", newest_first=True, limit=2)) == ordered[:-3:-1]
    assert keys(table.query("nobody")) == []


@pytest.mark.parametrize("is_back", [False, True])
def test_a_query_goes_on_behind_a_key_that_need_not_exist(table: Table, is_back: bool) -> None:
    for name in ("1", "2", "4", "5"):
        table.write(Put(item={"pk": "p", "sk": name}))
    behind = {False: {"2": ["4", "5"], "3": ["4", "5"], "5": []}, True: {"2": ["1"], "3": ["2", "1"], "1": []}}
    for after, left in behind[is_back].items():
        assert keys(table.query("p", newest_first=is_back, after=after)) == left
    assert keys(table.query("p", newest_first=is_back, after="3", limit=1)) == behind[is_back]["3"][:1]


@pytest.mark.parametrize("prefix", ["a", "a\uffff", "\U0001f525", "PATTERN#", "a%", "a_", "\ud7ff", "\U0010ffff"])
def test_a_prefix_is_taken_literally(table: Table, prefix: str) -> None:
    names = ["a", "a\uffffz", "ab", "a%b", "a_b", "PATTERN#1", "PATTERN", "\U0001f525x", "\ud7ffq", "\U0010ffff1", "b"]
    for name in names:
        table.write(Put(item={"pk": "p", "sk": name}))
    assert keys(table.query("p", sk_prefix=prefix)) == sorted(
        (name for name in names if name.startswith(prefix)), key=str.encode
    )


def test_a_query_reads_past_a_megabyte(table: Table) -> None:
    text = "x" * 60_000
    for number in range(30):
        table.write(Put(item={"pk": "big", "sk": f"{number:02}", "text": text}))
    found = table.query("big")
    assert keys(found) == [f"{number:02}" for number in range(30)]
    assert keys(table.query("big", limit=25)) == keys(found)[:25]


def test_expired_items_do_not_use_up_a_limit(table: Table, clock: FakeClock) -> None:
    for number in range(10):
        ttl = {"ttl": int(clock.at.timestamp()) + 100} if number < 7 else {}
        table.write(Put(item={"pk": "p", "sk": str(number), **ttl}))
    clock.pass_by(timedelta(seconds=150))
    assert keys(table.query("p", limit=2)) == ["7", "8"]


def test_due_items_come_earliest_first_and_only_those(table: Table) -> None:
    for number, at in enumerate([30, 10.5, 20, 10.25, 99]):
        table.write(Put(item={"pk": f"i{number}", "sk": "s", "due": "lease", "due_at": at}))
    table.write(Put(item={"pk": "other", "sk": "s", "due": "retry", "due_at": 1}))
    table.write(Put(item={"pk": "no-time", "sk": "s", "due": "lease"}))
    table.write(Put(item={"pk": "no-name", "sk": "s", "due_at": 1}))
    assert [item["due_at"] for item in table.due_before("lease", 30)] == [10.25, 10.5, 20, 30]
    assert [item["due_at"] for item in table.due_before("lease", 29.9, limit=2)] == [10.25, 10.5]


def test_an_item_leaves_the_due_index_when_it_is_done(table: Table) -> None:
    table.write(Put(item=an_item(due="lease", due_at=5)))
    table.write(Update(key=KEY, remove=("due", "due_at")))
    assert list(table.due_before("lease", 10)) == []


def test_due_items_past_a_megabyte_are_all_found(table: Table) -> None:
    for number in range(25):
        table.write(Put(item={"pk": f"{number}", "sk": "s", "due": "d", "due_at": number, "text": "x" * 60_000}))
    assert [item["due_at"] for item in table.due_before("d", 100)] == list(range(25))


# --- what cannot be kept ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key", [Key(pk="", sk="s"), Key(pk="p", sk=""), Key(pk="p" * 2049, sk="s"), Key(pk="p", sk="ä" * 513)]
)
def test_a_key_that_is_empty_or_too_long_is_refused(table: Table, key: Key) -> None:
    for attempt in (lambda: table.get(key), lambda: table.write(Put(item={"pk": key.pk, "sk": key.sk}))):
        with pytest.raises(InputRefused):
            attempt()


def test_the_longest_keys_are_kept(table: Table) -> None:
    item = {"pk": "p" * 2048, "sk": "s" * 1024}
    table.write(Put(item=item))
    assert table.get(Key(**item)) == item


@pytest.mark.parametrize(
    "attributes",
    [
        {"text": "x" * 410_000},
        {"number": math.nan},
        {"number": math.inf},
        {"number": 1e200},
        {"number": int("9" * 39)},
        {"text": "\ud800"},
        {"ttl": "soon"},
        {"ttl": None},
        {"due": 5, "due_at": 5},
        {"due": "", "due_at": 5},
        {"due": "d", "due_at": "5"},
    ],
)
def test_what_dynamodb_could_not_hold_is_refused_everywhere(table: Table, attributes: Mapping[str, JsonValue]) -> None:
    for write in (Put(item=an_item(**attributes)), Update(key=KEY, set=attributes)):
        with pytest.raises(InputRefused):
            table.write(write)
        with pytest.raises(InputRefused):
            table.write_all([write])
    assert table.get(KEY) is None


@pytest.mark.parametrize(
    "update",
    [
        Update(key=KEY, set={"pk": "other"}),
        Update(key=KEY, remove=("sk",)),
        Update(key=KEY, set={"a": 1}, add={"a": 1}),
        Update(key=KEY, set={"a": 1}, remove=("a",)),
    ],
)
def test_an_update_that_contradicts_itself_is_our_bug(table: Table, update: Update) -> None:
    with pytest.raises(InvariantBroken):
        table.write(update)
