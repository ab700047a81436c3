"""SQLite and DynamoDB answer alike to any sequence of writes: what a laptop accepts, the cloud accepts."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from affidavit.errors import InvariantBroken
from affidavit.ports.json import Item
from affidavit.ports.table import (
    Absent,
    AllOf,
    AnyOf,
    AtMost,
    ConditionFailed,
    Delete,
    Equals,
    Key,
    Lacks,
    Present,
    Put,
    Table,
    Update,
    Write,
)
from affidavit.sandbox.aws.resources import make_table
from affidavit.sandbox.sandbox import Sandbox
from tests.contracts.places import Place
from tests.support.clock import FakeClock

names = st.sampled_from(["status", "count", "size"])
numbers = st.integers(-3, 3) | st.sampled_from([0.5, -1.25, 1e20])
values = st.recursive(
    st.none() | st.booleans() | numbers | st.sampled_from(["", "a", "é"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["k", "ttl"]), inner, max_size=2),
    max_leaves=3,
)
simple = st.one_of(
    st.just(Absent()),
    st.just(Present()),
    st.builds(Equals, names, values),
    st.builds(AtMost, names, numbers),
    st.builds(Lacks, names),
)
parts = st.lists(simple, max_size=2).map(tuple)
conditions = st.none() | simple | parts.map(AllOf) | parts.map(AnyOf)
LIFETIMES = (5, 1000)


@st.composite
def writes(draw: st.DrawFn, key: Key, now: int) -> Write:
    """Of one item; about a third of them expire before the next write comes."""
    ttl = draw(st.sampled_from([None, *LIFETIMES]))
    lifetime = {} if ttl is None else {"ttl": now + ttl}
    attributes = draw(st.dictionaries(names, values, max_size=3))
    when = draw(conditions)
    match draw(st.sampled_from(["put", "update", "delete"])):
        case "put":
            return Put(item={"pk": key.pk, "sk": key.sk, **attributes, **lifetime}, when=when)
        case "delete":
            return Delete(key=key, when=when)
        case _:
            rest = sorted({"status", "count", "size"} - set(attributes))
            return Update(
                key=key,
                set={**attributes, **lifetime},
                add=dict.fromkeys(rest[:1], 2),
                remove=tuple(rest[1:2]),
                when=when,
            )


def outcome(table: Table, written: Write | list[Write]) -> object:
    try:
        return ("wrote", table.write_all(written) if isinstance(written, list) else table.write(written))
    except ConditionFailed as lost:
        return ("lost", lost.existing)
    except InvariantBroken:
        return ("our bug",)


def test_sqlite_and_dynamodb_agree(sandbox: Sandbox, aws_environment: dict[str, str], tmp_path: Path) -> None:
    clock = FakeClock(datetime.now(UTC) + timedelta(hours=1))
    local = Place(folder=tmp_path, environment={}, bucket="").table(clock=clock)
    place = Place(folder=tmp_path, environment=aws_environment, bucket="")
    make_table(sandbox.account, place.tables[0])
    cloud = place.table(clock=clock)
    examples = iter(range(10**9))

    # Not shrunk: each step is a request, and a failing example is short as it is.
    @settings(
        max_examples=25,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(st.data())
    def agree(data: st.DataObject) -> None:
        example = next(examples)
        one, two = (Key(pk=f"{example}", sk=sk) for sk in ("one", "two"))
        for _ in range(6):
            both = [data.draw(writes(key, int(clock.at.timestamp()))) for key in (one, two)]
            written = both if data.draw(st.booleans()) else both[0]
            assert outcome(local, written) == outcome(cloud, written)
            assert _state(local, one, two) == _state(cloud, one, two)
            clock.pass_by(timedelta(seconds=data.draw(st.sampled_from([0, 10]))))

    agree()


def _state(table: Table, *keys: Key) -> list[Item | None]:
    return [*(table.get(key) for key in keys), *table.query(keys[0].pk)]
