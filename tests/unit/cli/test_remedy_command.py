"""The doors of `affidavit remedy`, on plans in local stores: who may, what a dry run leaves alone, what is said."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.repairing.remediation import an_action
from tests.support.repairing.repairs import ALICE, BOB, ROBOT, Workshop, a_workshop, arn_of
from typer.testing import CliRunner

from affidavit.entrypoints.cli.main import app
from affidavit.entrypoints.cli.remedy.wiring import RemedyDesk
from affidavit.errors import InputRefused
from affidavit.incidents.store.state import Status
from affidavit.remediation.approvals.people import Approver, IdentityProof
from affidavit.remediation.kill_switch import RemediationStopped
from affidavit.remediation.plan.seal import typed_part
from affidavit.remediation.record.phases import Phase

STRANGER = Approver(identity="arn:aws:iam::999999999999:user/eve", proof=IdentityProof.AWS)


class Shell:
    """Types commands as one person after the other. Who it is, STS would say."""

    def __init__(self, workshop: Workshop) -> None:
        self.workshop, self.person = workshop, ALICE

    def desk(self, **_: Any) -> RemedyDesk:
        shell, made = self, self.workshop

        class Desk(RemedyDesk):
            def person(self) -> Approver:
                return shell.person

        return Desk(
            app=made.bench,  # pyright: ignore[reportArgumentType] - of an App only the clock is used here
            clients=None,  # pyright: ignore[reportArgumentType] - nothing of AWS is asked
            plans=made.plans,
            proposing=None,  # pyright: ignore[reportArgumentType] - nothing is proposed
            approvals=made.approvals,
            executor=made.executor,
        )

    def type(self, *arguments: str, answer: str = "") -> str:
        result = CliRunner().invoke(app, ["remedy", *arguments], input=answer)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.output


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    made = Shell(a_workshop(tmp_path))
    monkeypatch.setattr("affidavit.entrypoints.cli.remedy.subcommand_runs.build_remedy_desk", made.desk)
    return made


def waiting(shell: Shell, **changes: Any) -> Any:
    actions = [an_action(target=arn_of(f"orders-{number}")) for number in (1, 2)]
    return shell.workshop.awaiting(shell.workshop.plan(*actions, **changes))


def test_a_person_reads_types_the_end_of_the_seal_and_leaves_the_start_to_others(shell: Shell) -> None:
    row = waiting(shell, needed_approvals=2)
    said = shell.type("approve", row.plan_id, "--only", answer=f"{typed_part(row.seal)}\n")
    assert '+  "reserved": 5' in said
    assert f"You are {ALICE.identity}. Type the last characters of the seal" in said
    assert "another person has to approve it, too" in said
    shell.person = BOB
    said = shell.type("approve", row.plan_id, "--only", "--seal", typed_part(row.seal))
    assert f"affidavit remedy run {row.plan_id}" in said
    shown = shell.type("show", row.plan_id)
    assert f"{ALICE.identity}; approved this seal, known by aws" in shown
    assert "It is approved" in shown
    assert row.plan_id in shell.type("list")


@pytest.mark.parametrize("who", [STRANGER, Approver(identity=ROBOT, proof=IdentityProof.AWS)], ids=["stranger", "self"])
def test_who_may_not_approve_learns_so_before_reading(shell: Shell, who: Approver) -> None:
    row, shell.person = waiting(shell), who
    with pytest.raises(InputRefused):
        shell.type("approve", row.plan_id, answer=f"{typed_part(row.seal)}\n")
    assert shell.workshop.plans.get(row.plan_id).phase is Phase.AWAITING


def test_a_dry_run_of_every_command_changes_nothing(shell: Shell) -> None:
    row = waiting(shell)
    before = list(shell.workshop.plans.table.query(f"remediation#{row.plan_id}"))
    for command in (
        ["approve", row.plan_id],
        ["reject", row.plan_id],
        ["revoke", row.plan_id],
        ["run", row.plan_id],
        ["undo", row.plan_id],
        ["narrow", row.plan_id, "--drop", "2"],
        ["show", row.plan_id],
        ["list"],
        ["freeze"],
        ["thaw"],
    ):
        said = shell.type(*command, "--dry-run")
        assert said, command
        assert list(shell.workshop.plans.table.query(f"remediation#{row.plan_id}")) == before, command
    shell.workshop.switch.check()
    assert shell.workshop.door.grants == []
    assert "undo lambda:PutFunctionConcurrency" in shell.type("undo", row.plan_id, "--dry-run")


@pytest.mark.parametrize(("command", "phase"), [("reject", Phase.REJECTED), ("revoke", Phase.REVOKED)])
def test_rejecting_and_revoking_end_a_plan_with_a_reason(shell: Shell, command: str, phase: Phase) -> None:
    row = waiting(shell)
    assert f"is {phase}." in shell.type(command, row.plan_id, "--why", "the limit is wanted")
    ended = shell.workshop.plans.get(row.plan_id)
    assert (ended.phase, ended.reason) == (phase, "the limit is wanted")
    assert shell.workshop.status(row.incident_id) is Status.DIAGNOSED


@pytest.mark.parametrize("command", [["undo"], ["reject"], ["revoke"], ["narrow", "--drop", "1"]], ids=lambda c: c[0])
def test_a_stranger_decides_nothing(shell: Shell, command: list[str]) -> None:
    row, shell.person = waiting(shell), STRANGER
    with pytest.raises(InputRefused, match="may not approve"):
        shell.type(command[0], row.plan_id, *command[1:], "--dry-run")


def test_anybody_may_freeze_and_who_may_approve_thaws(shell: Shell) -> None:
    row, shell.person = waiting(shell), STRANGER
    assert "frozen" in shell.type("freeze")
    with pytest.raises(InputRefused):
        shell.type("thaw")
    shell.person = ALICE
    with pytest.raises(RemediationStopped):
        shell.type("approve", row.plan_id, "--seal", typed_part(row.seal))
    shell.type("thaw")
    assert "Approved" in shell.type("approve", row.plan_id, "--only", "--seal", typed_part(row.seal))
