"""Every action of functions on the sandbox: it does what it expects, and its undo brings back every state."""

import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.support.repairing.remediation import a_document, a_subject
from tests.support.repairing.repaired_function import make_function
from tests.support.repairing.repairs import Workshop, a_workshop, arn_of
from tests.support.storms import only_full

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.workload.state_inspector import AwsStateInspector
from affidavit.errors import Conflict
from affidavit.known_good.function_state_reading import read_state
from affidavit.ports.argument_sources import SourceKind
from affidavit.ports.aws_reads_and_changes import Grant
from affidavit.ports.json import Item
from affidavit.remediation.actions.action_type import Aim, Reading
from affidavit.remediation.actions.catalog import action_type, catalog
from affidavit.remediation.plan.seal import canonical_bytes
from affidavit.remediation.record.phases import Phase
from affidavit.remediation.review.action_matches_source import beyond_source
from affidavit.sandbox.sandbox import Sandbox


@dataclass
class Bed:
    """A function with an alias, versions and an event source, in any state a test wants."""

    workshop: Workshop
    client: Any
    function: str
    mapping: str
    changers: dict[Any, Any] = field(default_factory=dict)

    @property
    def arn(self) -> str:
        return arn_of(self.function)

    def aim(self, kind: str, chance: random.Random) -> Aim:
        """An aim of this kind, with values of chance."""
        match kind:
            case "lambda.concurrency.restore":
                return Aim(target=self.arn, arguments={"reserved": chance.choice([None, 0, 1, chance.randint(2, 50)])})
            case "lambda.configuration.restore":
                values = {
                    "Timeout": chance.randint(1, 900),
                    "MemorySize": chance.randint(128, 3008),
                    "Handler": f"m{chance.randint(0, 9)}.h",
                    # The first has no variables, the third has some.
                    "Environment": chance.choice(["1", "3"]),
                }
                path = chance.choice(list(values))
                return Aim(target=self.arn, arguments={"path": path, "value": values[path]})
            case "lambda.alias.rollback":
                return Aim(target=f"{self.arn}:live", arguments={"version": chance.choice(["1", "2", "$LATEST"])})
            case "lambda.permission.restore":
                grant: Item = {"Action": "lambda:InvokeFunction", "Principal": "s3.amazonaws.com"}
                more = {"SourceArn": f"arn:aws:s3:::b{chance.randint(0, 9)}", "SourceAccount": "000000000000"}
                return Aim(
                    target=self.arn, arguments={"sid": "s", "grant": chance.choice([None, grant, {**grant, **more}])}
                )
            case "lambda.event_source.enable":
                target = f"arn:aws:lambda:ca-central-1:000000000000:event-source-mapping:{self.mapping}"
                return Aim(target=target, arguments={"enabled": chance.random() < 0.5})
            case _:
                raise AssertionError(f"{kind} has no test bed")

    def make(self, kind: str, aim: Aim, live: Reading | None = None) -> Reading:
        """Through the real credentials; the state after it. Those of one kind are shared: making them takes longest."""
        known = action_type(kind)
        live = live or known.read(aim, self.workshop.reader)
        if live.state == known.expected(aim, live.state):
            return live
        for call in known.calls(aim, live.token):
            granted = (kind, call.action, call.also)
            if granted not in self.changers:
                grant = Grant(calls=(call,), source_identity="alice", session_name="plan-1")
                self.changers[granted] = self.workshop.door.open(grant)
            self.changers[granted].call(call)
        return known.read(aim, self.workshop.reader)


@pytest.fixture(scope="module")
def made(sandbox: Sandbox) -> tuple[str, str]:
    client, name = sandbox.client("lambda"), f"orders-{uuid4().hex[:8]}"
    make_function(sandbox, name)
    client.publish_version(FunctionName=name)
    client.update_function_configuration(FunctionName=name, Timeout=9)
    client.publish_version(FunctionName=name)
    client.update_function_configuration(FunctionName=name, Environment={"Variables": {"TABLE": "orders"}})
    client.publish_version(FunctionName=name)
    client.create_alias(FunctionName=name, Name="live", FunctionVersion="1")
    queue = sandbox.client("sqs").create_queue(QueueName=name)["QueueUrl"]
    arn = sandbox.client("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]
    mapping = client.create_event_source_mapping(FunctionName=name, EventSourceArn=arn["QueueArn"], Enabled=False)
    return name, mapping["UUID"]


@pytest.fixture
def bed(tmp_path: Path, sandbox: Sandbox, aws_environment: dict[str, str], made: tuple[str, str]) -> Bed:
    return Bed(
        workshop=a_workshop(tmp_path, sandbox), client=sandbox.client("lambda"), function=made[0], mapping=made[1]
    )


OURS = [name for name in catalog() if name.startswith("lambda.")]


@pytest.mark.parametrize("states", [10, *only_full(100)])
@pytest.mark.parametrize("kind", OURS)
def test_the_undo_of_random_states_is_byte_equal(bed, kind, states):
    known, chance, seen = action_type(kind), random.Random(kind), set[bytes]()
    for _ in range(states):
        _reach(bed, kind, chance)
        aim = bed.aim(kind, chance)
        before = known.read(aim, bed.workshop.reader)
        if kind == "lambda.permission.restore" and before.state["grant"] is not None:
            aim = Aim(target=aim.target, arguments={"sid": "s", "grant": None})
        made = bed.make(kind, aim, before)
        assert made.state == known.expected(aim, before.state)
        undo = known.undo(aim, before.state)
        assert undo is not None
        after = bed.make(kind, Aim(target=aim.target, arguments=undo), made)
        assert canonical_bytes(after.state) == canonical_bytes(before.state)
        seen.add(canonical_bytes(before.state))
    if kind == "lambda.concurrency.restore":
        assert {b'{"reserved":null}', b'{"reserved":0}'} <= seen, "absent is not 0"


def _reach(bed: Bed, kind: str, chance: random.Random) -> None:
    """Some state to come back to. A statement is replaced by taking it away first, as AWS wants it."""
    if kind == "lambda.permission.restore":
        _without_statement(bed)
    if kind == "lambda.alias.rollback":
        weights = chance.choice([{}, {"2": 0.25}])
        where = {"FunctionName": bed.function, "Name": "live", "FunctionVersion": "1"}
        bed.client.update_alias(**where, RoutingConfig={"AdditionalVersionWeights": weights})
    bed.make(kind, bed.aim(kind, chance))


def _without_statement(bed: Bed) -> None:
    from contextlib import suppress

    from botocore.exceptions import ClientError

    with suppress(ClientError):
        bed.client.remove_permission(FunctionName=bed.function, StatementId="s")


@pytest.mark.parametrize("kind", [name for name in OURS if action_type(name).has_token and "permission" not in name])
def test_a_stale_token_changes_nothing(bed, kind):
    known, chance = action_type(kind), random.Random(1)
    aim = bed.aim(kind, chance)
    (call,) = known.calls(aim, "a-revision-of-yesterday")
    before = known.read(aim, bed.workshop.reader).state
    changer = bed.workshop.door.open(Grant(calls=(call,), source_identity="alice", session_name="plan-1"))
    with pytest.raises(Conflict):
        changer.call(call)
    assert known.read(aim, bed.workshop.reader).state == before


@pytest.mark.parametrize("kind", OURS)
def test_a_whole_repair_of_each_kind_is_proven_and_undone(bed, kind):
    known, bed.workshop.read_back_seconds = action_type(kind), 60.0
    _without_statement(bed)
    bed.make("lambda.concurrency.restore", Aim(target=bed.arn, arguments={"reserved": 1}))
    aims = {
        "lambda.concurrency.restore": Aim(target=bed.arn, arguments={"reserved": 5}),
        "lambda.configuration.restore": Aim(target=bed.arn, arguments={"path": "Timeout", "value": 33}),
        "lambda.alias.rollback": Aim(target=f"{bed.arn}:live", arguments={"version": "2"}),
        "lambda.permission.restore": Aim(
            target=bed.arn,
            arguments={"sid": "s", "grant": {"Action": "lambda:InvokeFunction", "Principal": "s3.amazonaws.com"}},
        ),
        "lambda.event_source.enable": Aim(
            target=bed.aim("lambda.event_source.enable", random.Random(0)).target, arguments={"enabled": True}
        ),
    }
    if kind == "lambda.event_source.enable":
        bed.make(kind, Aim(target=aims[kind].target, arguments={"enabled": False}))
    before = known.read(aims[kind], bed.workshop.reader).state
    plan = bed.workshop.plan(bed.workshop.action(kind, aims[kind].target, aims[kind].arguments))
    assert bed.workshop.executor.run(bed.workshop.approved(plan).plan_id).phase is Phase.PROVEN
    assert bed.workshop.executor.undo(plan.plan_id, "alice").phase is Phase.UNDONE
    assert known.read(aims[kind], bed.workshop.reader).state == before


def test_a_known_good_state_gives_alias_event_source_and_statement_back(bed, sandbox):
    """Each of them is proposed from the state alone, passes the Critic's check, and is as before then."""
    client, alias = bed.client, {"FunctionName": bed.function, "Name": "live"}
    grant = {"Action": "lambda:InvokeFunction", "Principal": "s3.amazonaws.com", "SourceArn": "arn:aws:s3:::b"}
    client.update_alias(**alias, FunctionVersion="1")
    client.update_event_source_mapping(UUID=bed.mapping, Enabled=True)
    client.add_permission(FunctionName=bed.function, StatementId="kept", **grant)
    state = read_state(AwsStateInspector(AwsClients(sandbox.region)), bed.function, digest_key=b"k" * 32)
    good = a_document(SourceKind.BASELINE, json.loads(state.data))
    client.update_alias(**alias, FunctionVersion="2")
    client.update_event_source_mapping(UUID=bed.mapping, Enabled=False)
    client.remove_permission(FunctionName=bed.function, StatementId="kept")
    expected = {
        "lambda.alias.rollback": {"version": "1"},
        "lambda.permission.restore": {"sid": "kept", "grant": grant},
        "lambda.event_source.enable": {"enabled": True},
    }
    for kind, arguments in expected.items():
        (aim,) = action_type(kind).aims(a_subject(bed.function), good, bed.workshop.reader)
        assert aim.arguments == arguments
        action = bed.workshop.action(kind, aim.target, aim.arguments)
        assert list(beyond_source(action, good)) == []
        bed.make(kind, aim)
        assert action_type(kind).aims(a_subject(bed.function), good, bed.workshop.reader) == []
    wider = bed.workshop.action("lambda.permission.restore", bed.arn, {"sid": "kept", "grant": {**grant}})
    del wider.arguments["grant"]["SourceArn"]
    assert list(beyond_source(wider, good)), "without its limit it is wider"
    gone = Aim(target=f"{bed.arn}:live", arguments={"version": "99"})
    kind = action_type("lambda.alias.rollback")
    assert "no version 99" in kind.problems(gone, kind.read(gone, bed.workshop.reader), bed.workshop.reader)[0]
