"""An approved plan is carried out once, read back, proven, and undone to the byte; anything else calls nothing."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.support.repairing.repaired_function import make_function
from tests.support.repairing.repairs import ALICE, ROBOT, Workshop, a_workshop, arn_of

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.workload.state_inspector import AwsStateInspector
from affidavit.errors import Conflict, InvariantBroken, Throttled, UpstreamFailed
from affidavit.incidents.store.state import Status
from affidavit.remediation.actions.catalog import action_type
from affidavit.remediation.execution.other_writers import Bystanders
from affidavit.remediation.kill_switch import RemediationStopped
from affidavit.remediation.plan.plan_record import OnFailedProof
from affidavit.remediation.plan.seal import typed_part
from affidavit.remediation.record.check import broken_record
from affidavit.remediation.record.phases import Phase
from affidavit.remediation.record.store import PhaseMove
from affidavit.sandbox.sandbox import Sandbox

CONCURRENCY, CONFIGURATION = "lambda.concurrency.restore", "lambda.configuration.restore"


@pytest.fixture
def workshop(tmp_path: Path, sandbox: Sandbox, aws_environment: dict[str, str]) -> Workshop:
    return a_workshop(tmp_path, sandbox)


@pytest.fixture
def client(sandbox: Sandbox) -> Any:
    return sandbox.client("lambda")


@pytest.fixture
def broken(sandbox: Sandbox, client: Any) -> str:
    """A function that may not run."""
    name = make_function(sandbox, f"orders-{uuid4().hex[:8]}")
    client.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)
    return name


def reserved(client: Any, function: str) -> int | None:
    return client.get_function_concurrency(FunctionName=function).get("ReservedConcurrentExecutions")


def test_a_repair_is_read_back_proven_and_undone_on_request(workshop, client, broken):
    plan = workshop.plan(workshop.action(CONCURRENCY, arn_of(broken), {"reserved": 5}))
    row = workshop.executor.run(workshop.approved(plan).plan_id)
    assert row.phase is Phase.PROVEN
    assert workshop.status(plan.incident_id) is Status.REMEDIATED
    assert reserved(client, broken) == 5
    assert workshop.executor.undo(plan.plan_id, ALICE.identity).phase is Phase.UNDONE
    assert workshop.status(plan.incident_id) is Status.DIAGNOSED
    assert reserved(client, broken) == 0
    assert list(broken_record(workshop.plans, plan.plan_id)) == []


def test_the_last_approval_may_start_the_plan_in_the_same_write(workshop, client, broken):
    plan = workshop.plan(workshop.action(CONCURRENCY, arn_of(broken), {"reserved": 5}))
    row = workshop.awaiting(plan)
    redeemed = workshop.approvals.approve(
        row.plan_id, ALICE, typed=typed_part(row.seal), starting=workshop.starts.claim
    )
    assert redeemed.phase is Phase.REDEEMED
    assert workshop.executor.carry_out(redeemed).phase is Phase.PROVEN
    with pytest.raises(Conflict):
        workshop.executor.run(plan.plan_id)


def test_credentials_carry_the_approver_and_exactly_the_calls(workshop, broken):
    plan = workshop.plan(workshop.action(CONCURRENCY, arn_of(broken), {"reserved": 5}))
    workshop.executor.run(workshop.approved(plan).plan_id)
    (grant,) = workshop.door.grants
    assert grant.source_identity == ALICE.identity
    assert [(call.action, call.resource) for call in grant.calls] == [("lambda:PutFunctionConcurrency", arn_of(broken))]
    assert grant.seconds == 900


@pytest.mark.parametrize("end", ["reject", "revoke", "expire", "await"])
def test_a_plan_that_is_not_approved_calls_nothing_through_any_door(workshop, broken, end):
    plan = workshop.plan(workshop.action(CONCURRENCY, arn_of(broken), {"reserved": 5}))
    row = workshop.awaiting(plan) if end in ("reject", "await") else workshop.approved(plan)
    match end:
        case "reject":
            workshop.approvals.reject(row.plan_id, ALICE, "no")
        case "revoke":
            workshop.approvals.revoke(row.plan_id, ALICE, "no")
        case "expire":
            workshop.clock.pass_by(timedelta(hours=1))
        case _:
            pass
    for door in (
        lambda: workshop.executor.run(row.plan_id),
        lambda: workshop.executor.undo(row.plan_id, "alice"),
        lambda: workshop.executor.redeem(workshop.plans.get(row.plan_id), plan),
    ):
        with pytest.raises(Conflict):
            door()
    assert workshop.door.grants == []
    expected = Status.AWAITING_APPROVAL if end == "await" else Status.DIAGNOSED
    assert workshop.status(plan.incident_id) is expected


def test_drift_before_the_call_is_stale_and_calls_nothing(workshop, client, broken):
    plan = workshop.plan(workshop.action(CONCURRENCY, arn_of(broken), {"reserved": 5}))
    row = workshop.approved(plan)
    client.put_function_concurrency(FunctionName=broken, ReservedConcurrentExecutions=1)
    assert workshop.executor.run(row.plan_id).phase is Phase.STALE
    assert workshop.door.calls == []
    assert reserved(client, broken) == 1


def test_a_source_that_says_something_else_by_now_is_stale(workshop, broken):
    plan = workshop.plan(workshop.action(CONCURRENCY, arn_of(broken), {"reserved": 5}))
    row = workshop.approved(plan)
    workshop.sources.documents[:] = [replace(one, document={"reserved": 6}) for one in workshop.sources.documents]
    assert workshop.executor.run(row.plan_id).phase is Phase.STALE
    assert workshop.door.calls == []


def test_a_change_right_after_the_call_is_reported_and_left_alone(workshop, client, broken):
    plan = workshop.plan(workshop.action(CONCURRENCY, arn_of(broken), {"reserved": 5}))
    row = workshop.approved(plan)
    workshop.door.after = lambda _: client.put_function_concurrency(FunctionName=broken, ReservedConcurrentExecutions=9)
    row = workshop.executor.run(row.plan_id)
    assert row.phase is Phase.HANDED_OVER
    assert "changed in between" in row.reason
    assert reserved(client, broken) == 9


def test_a_write_between_our_read_and_our_call_is_found_in_cloudtrail_and_reported(workshop, client, broken, sandbox):
    workshop.bystanders = Bystanders(trail=AwsStateInspector(AwsClients(sandbox.region)))
    workshop.clock.at = datetime.now(UTC)
    plan = workshop.plan(workshop.action(CONCURRENCY, arn_of(broken), {"reserved": 5}))
    row = workshop.approved(plan)

    def somebody_writes(_: object) -> None:
        client.put_function_concurrency(FunctionName=broken, ReservedConcurrentExecutions=9)
        workshop.clock.at = datetime.now(UTC)

    workshop.door.before = somebody_writes
    row = workshop.executor.run(row.plan_id)
    assert (row.phase, reserved(client, broken)) == (Phase.PROVEN, 5)
    assert f"called PutFunctionConcurrency on {arn_of(broken)}" in row.reason
    assert workshop.plans.record(row.plan_id)[-1].details["others"]
    workshop.door.before = lambda _: None
    undone = workshop.executor.undo(plan.plan_id, ALICE.identity)
    assert undone.phase is Phase.UNDONE
    assert workshop.door.grants[-1].source_identity == ALICE.identity


def test_an_undo_after_somebody_elses_change_is_refused_and_says_what(workshop, client, broken):
    plan = workshop.plan(workshop.action(CONCURRENCY, arn_of(broken), {"reserved": 5}))
    workshop.executor.run(workshop.approved(plan).plan_id)
    client.put_function_concurrency(FunctionName=broken, ReservedConcurrentExecutions=7)
    row = workshop.executor.undo(plan.plan_id, "alice")
    assert row.phase is Phase.UNDO_FAILED
    assert "somebody else changed" in row.reason
    assert '+  "reserved": 7' in row.reason
    assert reserved(client, broken) == 7
    assert workshop.status(plan.incident_id) is Status.DIAGNOSED


@pytest.mark.parametrize(
    "runs", [{"bad": 1}, {"good": 0}, {"is_complete": False}, {"error": Throttled("slow down")}], ids=str
)
def test_the_right_configuration_without_a_good_run_is_undone(workshop, client, broken, runs):
    plan = workshop.plan(workshop.action(CONCURRENCY, arn_of(broken), {"reserved": 5}))
    for name, value in runs.items():
        setattr(workshop.runs, name, value)
    row = workshop.executor.run(workshop.approved(plan).plan_id)
    assert row.phase is Phase.UNDONE
    assert workshop.status(plan.incident_id) is Status.DIAGNOSED
    assert reserved(client, broken) == 0


def test_a_plan_that_says_so_is_handed_to_a_person_instead_of_undone(workshop, client, broken):
    action = workshop.action(CONCURRENCY, arn_of(broken), {"reserved": 5})
    plan = workshop.plan(action, on_failed_proof=OnFailedProof.HAND_OVER)
    workshop.runs.good = 0
    assert workshop.executor.run(workshop.approved(plan).plan_id).phase is Phase.HANDED_OVER
    assert reserved(client, broken) == 5


class FailingReads:
    """Fails every read after the change."""

    def __init__(self, inner: Any, workshop: Workshop, error: Exception) -> None:
        self.inner, self.workshop, self.error = inner, workshop, error

    def read(self, *args: Any, **named: Any) -> Any:
        if self.workshop.door.calls:
            raise self.error
        return self.inner.read(*args, **named)


@pytest.mark.parametrize("error", [Throttled("slow down"), UpstreamFailed("gone")], ids=["throttled", "failed"])
def test_a_read_back_that_fails_is_never_success(workshop, broken, error):
    plan = workshop.plan(workshop.action(CONCURRENCY, arn_of(broken), {"reserved": 5}))
    row = workshop.approved(plan)
    workshop.reader = FailingReads(workshop.reader, workshop, error)
    assert workshop.executor.run(row.plan_id).phase is Phase.HANDED_OVER
    assert workshop.status(plan.incident_id) is Status.DIAGNOSED


def test_step_two_of_three_fails_and_the_first_is_taken_back(workshop, client, sandbox):
    names = [make_function(sandbox, f"orders-{uuid4().hex[:8]}") for _ in range(3)]
    for name in names:
        client.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)
    plan = workshop.plan(*(workshop.action(CONCURRENCY, arn_of(name), {"reserved": 5}) for name in names))
    row = workshop.approved(plan)

    def fail(call: Any) -> None:
        if call.resource == arn_of(names[1]) and call.parameters["ReservedConcurrentExecutions"] == 5:
            raise UpstreamFailed("the second call fails")

    workshop.door.before = fail
    row = workshop.executor.run(row.plan_id)
    assert row.phase is Phase.UNDONE
    assert [reserved(client, name) for name in names] == [0, 0, 0]
    # Made, failed, taken back: the third was never tried.
    assert [call.resource for call in workshop.door.calls] == [arn_of(names[0]), arn_of(names[1]), arn_of(names[0])]


def test_the_undo_is_on_record_before_the_call(workshop, broken):
    plan = workshop.plan(workshop.action(CONCURRENCY, arn_of(broken), {"reserved": 5}))
    row = workshop.approved(plan)
    seen: list[Any] = []
    workshop.door.before = lambda _: seen.append(workshop.plans.record(row.plan_id)[-1])
    workshop.executor.run(row.plan_id)
    assert seen[0].phase is Phase.INTENT_WRITTEN
    assert seen[0].details["undo"] == {"reserved": 0}


@pytest.mark.parametrize("moment", ["before", "at the call", "while proving"])
def test_the_kill_switch_stops_at_every_boundary(workshop, client, broken, moment):
    plan = workshop.plan(workshop.action(CONCURRENCY, arn_of(broken), {"reserved": 5}))
    row = workshop.approved(plan)
    match moment:
        case "before":
            workshop.settings["REMEDIATION"] = "off"
            with pytest.raises(RemediationStopped):
                workshop.executor.run(row.plan_id)
            assert workshop.door.grants == []
            return
        case "at the call":
            advance = workshop.plans.advance

            def then_freeze(row: Any, *moves: Any, **named: Any) -> Any:
                after = advance(row, *moves, **named)
                if after.phase is Phase.INTENT_WRITTEN:
                    workshop.switch.freeze("bob")
                return after

            workshop.plans.advance = then_freeze
        case _:
            workshop.door.after = lambda _: workshop.switch.freeze("bob")
    row = workshop.executor.run(row.plan_id)
    assert row.phase is Phase.HANDED_OVER
    assert "frozen" in row.reason
    assert len(workshop.door.calls) == (0 if moment == "at the call" else 1)


def test_nothing_runs_while_remediation_is_off_which_is_the_default(workshop, broken):
    row = workshop.approved(workshop.plan(workshop.action(CONCURRENCY, arn_of(broken), {"reserved": 5})))
    workshop.settings.clear()
    with pytest.raises(RemediationStopped, match="switched off"):
        workshop.executor.run(row.plan_id)


def test_a_target_is_left_alone_for_a_while_and_the_hour_has_a_limit(workshop, client, broken, sandbox):
    workshop.target_rest = timedelta(minutes=30)
    plan = workshop.plan(workshop.action(CONCURRENCY, arn_of(broken), {"reserved": 5}))
    workshop.executor.run(workshop.approved(plan).plan_id)
    again = workshop.plan(workshop.action(CONCURRENCY, arn_of(broken), {"reserved": 6}))
    row = workshop.approved(again)
    with pytest.raises(Conflict, match="a short while ago"):
        workshop.executor.run(row.plan_id)
    workshop.clock.pass_by(timedelta(minutes=30))
    workshop.per_hour = 1
    with pytest.raises(Conflict, match="in the last hour"):
        workshop.executor.run(row.plan_id)
    workshop.per_hour = 2
    assert workshop.executor.run(row.plan_id).phase is Phase.PROVEN


def test_two_plans_on_one_target_do_not_run_at_once(workshop, broken):
    action = workshop.action(CONCURRENCY, arn_of(broken), {"reserved": 5})
    first, second = workshop.plan(action), workshop.plan(action)
    workshop.executor.redeem(workshop.approved(first), first)
    row = workshop.approved(second)
    with pytest.raises(Conflict, match="is being repaired"):
        workshop.executor.run(row.plan_id)


def test_a_row_that_was_forged_after_the_approval_starts_nothing(workshop, broken):
    plan = workshop.plan(workshop.action(CONCURRENCY, arn_of(broken), {"reserved": 5}))
    row = workshop.awaiting(plan)
    from affidavit.ports.table import Key, Update

    key = Key(pk=f"remediation#{row.plan_id}", sk="state")
    workshop.plans.table.write(Update(key=key, set={"phase": "approved", "approvers": f'["{ALICE.identity}"]'}))
    with pytest.raises(InvariantBroken):
        workshop.executor.run(row.plan_id)
    assert workshop.door.grants == []


def test_an_undo_waits_for_the_plan_that_works_on_its_target(workshop, client, broken):
    plan = workshop.plan(workshop.action(CONCURRENCY, arn_of(broken), {"reserved": 5}))
    workshop.executor.run(workshop.approved(plan).plan_id)
    other = workshop.plan(workshop.action(CONFIGURATION, arn_of(broken), {"path": "Timeout", "value": 9}))
    started = workshop.executor.redeem(workshop.approved(other), other)
    with pytest.raises(Conflict, match=f"is being repaired by {other.plan_id}"):
        workshop.executor.undo(plan.plan_id, ALICE.identity)
    assert workshop.plans.get(plan.plan_id).phase is Phase.PROVEN
    workshop.executor.tools.end(started, other, Phase.STALE, "it is not needed")
    assert workshop.executor.undo(plan.plan_id, ALICE.identity).phase is Phase.UNDONE
    assert reserved(client, broken) == 0


def test_a_call_whose_answer_is_lost_is_waited_for_before_it_is_called_none(workshop, client, broken):
    """AWS may carry out a request after the client gave up on it."""
    row = workshop.approved(workshop.plan(workshop.action(CONCURRENCY, arn_of(broken), {"reserved": 5})))
    workshop.read_back_seconds, looks = 60.0, []

    def lose(_: Any) -> None:
        raise UpstreamFailed("no answer within 20 s")

    def later(seconds: float) -> None:
        looks.append(seconds)
        workshop.clock.pass_by(timedelta(seconds=seconds))
        if len(looks) == 3:
            client.put_function_concurrency(FunctionName=broken, ReservedConcurrentExecutions=5)

    workshop.door.before = lose
    workshop._sleep = later
    assert workshop.executor.run(row.plan_id).phase is Phase.PROVEN
    assert "committed" in [one.details.get("settled") for one in workshop.plans.record(row.plan_id)]


def test_what_aws_still_carries_out_is_not_settled_yet(workshop, broken):
    """A restart that was sent and has not ended is neither done nor undone."""
    row = workshop.approved(workshop.plan(workshop.action(CONCURRENCY, arn_of(broken), {"reserved": 5})))
    kind, whole = type(action_type(CONCURRENCY)), action_type(CONCURRENCY).read
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "read", lambda _, aim, reader: replace(whole(aim, reader), is_settled=False))
        workshop.door.after = _die
        with pytest.raises(Died):
            workshop.executor.run(row.plan_id)
        workshop.clock.pass_by(timedelta(minutes=21))
        for _ in range(2):
            with pytest.raises(Conflict, match="still carries out"):
                workshop.executor.run(row.plan_id)
    assert workshop.executor.run(row.plan_id).phase is Phase.PROVEN


class Died(BaseException):
    pass


def _die(_: Any) -> None:
    raise Died


def test_an_approval_in_the_record_under_a_second_name_is_not_a_second_person(workshop, broken):
    """The executor counts people on its own, whatever the door of the approvals let pass."""
    action = workshop.action(CONCURRENCY, arn_of(broken), {"reserved": 5})
    for proposer, names in (
        (ROBOT, ["arn:aws:iam::000000000000:user/alice", "alice@example.com"]),
        (ROBOT, ["arn:aws:iam::000000000000:user/alice", "arn:aws:sts::000000000000:assumed-role/ops/ALICE"]),
        ("bob@example.com", ["arn:aws:iam::000000000000:user/alice", "arn:aws:iam::000000000000:user/bob"]),
    ):
        plan = workshop.plan(action, needed_approvals=2, created_by=proposer)
        row = workshop.awaiting(plan)
        details = {"seal": row.seal, "proof": "aws"}
        moves = [PhaseMove(to=Phase.AWAITING, by=names[0], details=details)]
        moves += [PhaseMove(to=Phase.APPROVED, by=names[1], details=details)]
        row = workshop.plans.advance(row, *moves, changes={"approvers": tuple(names)})
        with pytest.raises(InvariantBroken, match="not approved by enough people"):
            workshop.executor.run(row.plan_id)
    assert workshop.door.grants == []


def test_drift_between_two_steps_takes_the_first_back(workshop, client, sandbox):
    names = [make_function(sandbox, f"orders-{uuid4().hex[:8]}") for _ in range(2)]
    for name in names:
        client.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)
    row = workshop.approved(
        workshop.plan(*(workshop.action(CONCURRENCY, arn_of(name), {"reserved": 5}) for name in names))
    )
    workshop.door.after = lambda _: client.put_function_concurrency(
        FunctionName=names[1], ReservedConcurrentExecutions=1
    )
    row = workshop.executor.run(row.plan_id)
    assert (row.phase, "is no longer as the plan says" in row.reason) == (Phase.UNDONE, True)
    assert [reserved(client, name) for name in names] == [0, 1]


def test_drift_between_two_undos_is_left_alone(workshop, client, sandbox):
    names = [make_function(sandbox, f"orders-{uuid4().hex[:8]}") for _ in range(2)]
    for name in names:
        client.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)
    plan = workshop.plan(*(workshop.action(CONCURRENCY, arn_of(name), {"reserved": 5}) for name in names))
    workshop.executor.run(workshop.approved(plan).plan_id)
    # The last one is taken back first.
    workshop.door.after = lambda _: client.put_function_concurrency(
        FunctionName=names[0], ReservedConcurrentExecutions=9
    )
    row = workshop.executor.undo(plan.plan_id, ALICE.identity)
    assert (row.phase, "changed right before it was undone" in row.reason) == (Phase.UNDO_FAILED, True)
    assert [reserved(client, name) for name in names] == [9, 0]


def test_a_change_while_the_proof_is_awaited_is_no_repair(workshop, client, broken):
    row = workshop.approved(workshop.plan(workshop.action(CONCURRENCY, arn_of(broken), {"reserved": 5})))
    look = workshop.runs.look

    def somebody_writes(*words: Any, **named: Any) -> Any:
        client.put_function_concurrency(FunctionName=broken, ReservedConcurrentExecutions=9)
        return look(*words, **named)

    workshop.runs.look = somebody_writes
    row = workshop.executor.run(row.plan_id)
    assert (row.phase, "while the proof was awaited" in row.reason) == (Phase.UNDO_FAILED, True)
    assert reserved(client, broken) == 9


def test_nobody_takes_over_from_an_executor_that_is_alive(workshop, broken):
    plan = workshop.plan(workshop.action(CONCURRENCY, arn_of(broken), {"reserved": 5}))
    started = workshop.executor.redeem(workshop.approved(plan), plan)
    workshop.clock.pass_by(timedelta(minutes=19))
    with pytest.raises(Conflict, match="is being carried out"):
        workshop.executor.run(plan.plan_id)
    assert workshop.plans.get(plan.plan_id) == started
