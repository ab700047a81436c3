"""Reject, revoke, freeze and narrow through the command itself, as real processes of real people: nothing is called."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.support.investigations.incidents import REMAINING, an_incident, memory_folder
from tests.support.processes.command import affidavit
from tests.support.repairing.repaired_account import READ, Made, make_account
from tests.support.repairing.repaired_function import ALL, executor_role
from tests.support.repairing.repairs import Workshop, a_workshop

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.workload.state_inspector import AwsStateInspector
from affidavit.adapters.local.table import SqliteTable
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.incidents.store.state import Status
from affidavit.known_good.function_state_reading import read_state
from affidavit.known_good.store import KnownGoodStore, Vouch
from affidavit.remediation.plan.seal import typed_part
from affidavit.remediation.record.phases import Phase
from affidavit.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.slow
LOST = ("read", "write")


class Doors:
    """Types commands as one of the people of the sandbox. Stores are local, AWS is the sandbox."""

    def __init__(self, workshop: Workshop, made: Made, environment: dict[str, str]) -> None:
        self.workshop, self.made, self.environment = workshop, made, environment
        self.keys = {"robot": dict[str, str]()} | {name: self._keys(name) for name in ("alice", "bob")}

    def type(self, person: str, *words: str, **settings: str) -> tuple[int, str]:
        done = affidavit("remedy", *words, env={**self.environment, **self.keys[person], **settings})
        return done.returncode, done.stdout + done.stderr

    def _keys(self, person: str) -> dict[str, str]:
        """May do everything: who may approve, REMEDIATION_PEOPLE says."""
        iam, name = self.made.client("iam"), f"{person}-{self.made.name}"
        iam.create_user(UserName=name)
        iam.put_user_policy(UserName=name, PolicyName="all", PolicyDocument=json.dumps(ALL))
        made = iam.create_access_key(UserName=name)["AccessKey"]
        return {"AWS_ACCESS_KEY_ID": made["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": made["SecretAccessKey"]}

    def proposed(self, name: str) -> tuple[str, str]:
        """A plan of the account's own keys for a new incident, and the end of its seal."""
        subject = Subject(kind=SubjectKind.FUNCTION, id=self.made.name)
        named = {"account": "000000000000", "subject": subject, "resources": (self.made.name,)}
        incident = an_incident(name, **named, occurred_at=datetime.now(UTC))
        self.workshop.bench.supervisor.receive(incident, remaining=REMAINING)
        code, said = self.type("robot", "propose", name)
        assert code == 0, said
        plan_id = said.rpartition("affidavit remedy show ")[2].strip()
        return plan_id, typed_part(self.workshop.plans.get(plan_id).seal)

    def policies(self) -> list[str]:
        return self.made.client("iam").list_role_policies(RoleName=self.made.name)["PolicyNames"]


@pytest.fixture(scope="module")
def doors(sandbox: Sandbox) -> Iterator[Doors]:
    with memory_folder() as folder, pytest.MonkeyPatch.context() as patch:
        environment = {name: value for name, value in sandbox.environment.items() if not name.endswith("_TABLE")}
        for name, value in (environment | {"LOGS_BUCKET": ""}).items():
            patch.setenv(name, value)
        made, workshop = make_account(sandbox), a_workshop(folder, sandbox)
        workshop.clock.at = datetime.now(UTC)
        made.client("iam").put_role_policy(RoleName=made.name, PolicyName="write", PolicyDocument=json.dumps(READ))
        _keep_known_good(folder, workshop, made)
        for name in LOST:
            made.client("iam").delete_role_policy(RoleName=made.name, PolicyName=name)
        settings = {
            "AFFIDAVIT_DATA": str(folder),
            "LOGS_BUCKET": "",
            "ALERT_TOPIC_ARN": "",
            "REMEDIATION": "on",
            "REMEDIATION_ROLE_ARN": executor_role(sandbox),
            "REMEDIATION_PEOPLE": f"arn:aws:iam::000000000000:user/*-{made.name}",
        }
        yield Doors(workshop, made, {**environment, **settings})


def _keep_known_good(folder: Path, workshop: Workshop, made: Made) -> None:
    table = SqliteTable(folder / "state.sqlite", "affidavit-state", workshop.clock)
    store = KnownGoodStore(objects=workshop.bench.objects, table=table, clock=workshop.clock)
    inspector = AwsStateInspector(AwsClients(made.sandbox.region))
    store.keep(read_state(inspector, made.name, digest_key=store.digest_key()), Vouch.PERSON)


def reject(doors: Doors, plan_id: str, _: str) -> Phase:
    assert doors.type("alice", "reject", plan_id, "--why", "it is wanted")[0] == 0
    return Phase.REJECTED


def revoke(doors: Doors, plan_id: str, seal: str) -> Phase:
    for person in ("alice", "bob"):
        assert doors.type(person, "approve", plan_id, "--only", "--seal", seal)[0] == 0
    assert doors.type("bob", "revoke", plan_id)[0] == 0
    return Phase.REVOKED


def narrow(doors: Doors, plan_id: str, _: str) -> Phase:
    code, said = doors.type("alice", "narrow", plan_id, "--drop", "2")
    assert (code, said.count("iam.inline_policy.restore")) == (0, 1), said
    new = said.rpartition("affidavit remedy show ")[2].strip()
    assert doors.type("bob", "reject", new)[0] == 0
    return Phase.REJECTED


@pytest.mark.parametrize("end", [reject, revoke, narrow], ids=lambda end: end.__name__)
def test_what_was_ended_calls_nothing_through_any_door(doors: Doors, end: Callable[..., Phase]) -> None:
    incident = f"inc-{end.__name__}"
    plan_id, seal = doors.proposed(incident)
    phase = end(doors, plan_id, seal)
    assert doors.type("bob", "approve", plan_id, "--seal", seal)[0] == 2
    assert doors.type("alice", "undo", plan_id)[0] == 2
    code, said = doors.type("alice", "run", plan_id)
    assert (code, f"is {phase}" in said) == (2, True), said
    assert doors.workshop.plans.get(plan_id).phase is phase
    assert doors.workshop.status(incident) is Status.DIAGNOSED
    assert doors.policies() == []


def test_while_repairs_are_frozen_or_off_an_approved_plan_calls_nothing_and_stays_approved(doors: Doors) -> None:
    plan_id, seal = doors.proposed("inc-freeze")
    for person in ("alice", "bob"):
        assert doors.type(person, "approve", plan_id, "--only", "--seal", seal)[0] == 0
    assert doors.type("robot", "freeze")[0] == 0
    code, said = doors.type("alice", "run", plan_id)
    assert (code, "repairs are frozen" in said, doors.policies()) == (2, True, [])
    assert doors.type("robot", "thaw")[0] == 2, "who may not approve does not thaw"
    assert doors.type("bob", "thaw")[0] == 0
    assert doors.type("alice", "run", plan_id, REMEDIATION="off")[0] == 2
    assert (doors.policies(), doors.workshop.plans.get(plan_id).phase) == ([], Phase.APPROVED)
    assert doors.type("alice", "revoke", plan_id)[0] == 0
