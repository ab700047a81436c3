"""An approval is one person's word on one seal, for a while, once."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.repairing.remediation import an_action
from tests.support.repairing.repairs import ALICE, BOB, ROBOT, Workshop, a_workshop

from affidavit.errors import Conflict, InputRefused, InvariantBroken
from affidavit.incidents.store.state import Status
from affidavit.ports.table import Key, Update
from affidavit.remediation.approvals.people import (
    Approver,
    IdentityProof,
    check_may_approve,
    is_same_person,
    others_than,
)
from affidavit.remediation.kill_switch import RemediationStopped
from affidavit.remediation.plan.plan_record import Plan
from affidavit.remediation.plan.seal import plan_bytes, typed_part
from affidavit.remediation.record.check import broken_record
from affidavit.remediation.record.phases import Phase
from affidavit.remediation.record.store import plan_key


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return a_workshop(tmp_path)


def a_plan(workshop: Workshop, **changes: Any) -> Plan:
    return workshop.plan(an_action(), **changes)


def approve(workshop: Workshop, row: Any, person: Approver = ALICE) -> Any:
    return workshop.approvals.approve(row.plan_id, person, typed=typed_part(row.seal))


def test_one_approval_moves_the_plan_and_its_incident(workshop):
    plan = a_plan(workshop)
    row = workshop.awaiting(plan)
    assert workshop.status(plan.incident_id) is Status.AWAITING_APPROVAL
    assert approve(workshop, row).phase is Phase.APPROVED
    assert workshop.status(plan.incident_id) is Status.REMEDIATING


def test_who_proposed_cannot_approve(workshop):
    row = workshop.awaiting(a_plan(workshop))
    with pytest.raises(InputRefused, match="proposed this plan"):
        approve(workshop, row, Approver(identity=ROBOT, proof=IdentityProof.AWS))
    assert workshop.plans.get(row.plan_id).phase is Phase.AWAITING


def test_a_high_risk_needs_two_different_people(workshop):
    row = workshop.awaiting(a_plan(workshop, needed_approvals=2))
    assert approve(workshop, row, ALICE).phase is Phase.AWAITING
    with pytest.raises(InputRefused, match="approved already"):
        approve(workshop, row, ALICE)
    assert approve(workshop, row, BOB).phase is Phase.APPROVED


def test_the_setting_may_ask_for_two_always(workshop):
    workshop.least = 2
    row = workshop.awaiting(a_plan(workshop))
    assert approve(workshop, row, ALICE).phase is Phase.AWAITING
    assert approve(workshop, row, BOB).phase is Phase.APPROVED


@pytest.mark.parametrize(
    "identity",
    [
        "",
        "alice",
        "arn:aws:iam::999999999999:user/alice",
        "arn:aws:sts::000000000000:assumed-role/affidavit-mcp/agent",
        "x arn:aws:iam::000000000000:user/alice",
    ],
)
def test_an_identity_that_the_list_does_not_name_approves_nothing(workshop, identity):
    row = workshop.awaiting(a_plan(workshop))
    with pytest.raises(InputRefused, match="may not approve"):
        approve(workshop, row, Approver(identity=identity, proof=IdentityProof.AWS))


def test_the_executors_own_role_approves_nothing(workshop):
    row = workshop.awaiting(a_plan(workshop))
    role = "arn:aws:iam::000000000000:role/affidavit-executor"
    approvals = replace(workshop.approvals, people=frozenset({"*"}), executor_role=role)
    person = Approver(identity="arn:aws:sts::000000000000:assumed-role/affidavit-executor/x", proof=IdentityProof.AWS)
    with pytest.raises(InputRefused, match="own role"):
        approvals.approve(row.plan_id, person, typed=typed_part(row.seal))


def test_other_characters_than_the_seals_approve_nothing(workshop):
    row = workshop.awaiting(a_plan(workshop))
    for typed in ("", typed_part(row.seal)[:-1], typed_part(row.seal).upper() + "x", row.seal[:8]):
        with pytest.raises(InputRefused, match="last characters"):
            workshop.approvals.approve(row.plan_id, ALICE, typed=typed)


@pytest.mark.parametrize(("seconds", "is_open"), [(-1, True), (0, False), (1, False)])
def test_expiry_is_exact(workshop, seconds, is_open):
    plan = a_plan(workshop)
    row = workshop.awaiting(plan)
    workshop.clock.at = plan.expires_at + timedelta(seconds=seconds)
    if is_open:
        assert approve(workshop, row).phase is Phase.APPROVED
        return
    with pytest.raises(Conflict, match="expired"):
        approve(workshop, row)
    assert workshop.plans.get(row.plan_id).phase is Phase.EXPIRED
    assert workshop.status(plan.incident_id) is Status.DIAGNOSED


@pytest.mark.parametrize(("seconds", "is_open"), [(-1, True), (0, False), (1, False)])
def test_an_approved_plan_expires_exactly_too(workshop, seconds, is_open):
    plan = a_plan(workshop)
    row = workshop.approved(plan)
    workshop.clock.at = plan.expires_at + timedelta(seconds=seconds)
    if is_open:
        assert workshop.executor.redeem(row, plan).phase is Phase.REDEEMED
        return
    with pytest.raises(Conflict, match="expired"):
        workshop.executor.redeem(row, plan)


def test_a_clock_that_was_set_back_revives_nothing(workshop):
    plan = a_plan(workshop)
    row = workshop.approved(plan)
    workshop.clock.at = plan.expires_at + timedelta(hours=1)
    with pytest.raises(Conflict):
        workshop.executor.redeem(row, plan)
    workshop.clock.at = plan.created_at - timedelta(minutes=1)
    fresh = a_plan(workshop)
    workshop.clock.pass_by(timedelta(minutes=1))
    row = workshop.awaiting(fresh)
    workshop.clock.pass_by(-timedelta(seconds=1))
    with pytest.raises(Conflict, match="clock"):
        approve(workshop, row)


def test_while_repairs_are_off_nobody_approves(workshop):
    row = workshop.awaiting(a_plan(workshop))
    workshop.settings["REMEDIATION"] = "off"
    with pytest.raises(RemediationStopped):
        approve(workshop, row)


def test_a_replayed_approval_starts_nothing_a_thousand_times(workshop):
    plan = a_plan(workshop)
    row = workshop.approved(plan)
    workshop.executor.redeem(row, plan)
    starts = 0
    for number in range(1_000):
        try:
            if number % 2:
                workshop.executor.redeem(row, plan)
            else:
                approve(workshop, row, BOB)
            starts += 1
        except Conflict:
            continue
    assert starts == 0


def test_a_second_plan_for_an_incident_that_waits_is_refused(workshop):
    plan = a_plan(workshop)
    workshop.awaiting(plan)
    with pytest.raises(Conflict, match="not waiting for a plan"):
        workshop.awaiting(replace(plan, plan_id="plan-other"))


def test_every_flipped_byte_of_a_record_is_found(workshop):
    row = workshop.approved(a_plan(workshop))
    table, pk, flipped = workshop.plans.table, f"remediation#{row.plan_id}", 0
    for item in table.query(pk):
        for name in [name for name in item if name not in ("pk", "sk")]:
            value = item[name]
            changed = value + 1 if isinstance(value, int | float) else _flipped(str(value))
            key = Key(pk=pk, sk=str(item["sk"]))
            for each in [changed] if not isinstance(changed, list) else changed:
                table.write(Update(key=key, set={name: each}))
                assert _is_found(workshop, row.plan_id), (item["sk"], name, each)
                flipped += 1
            table.write(Update(key=key, set={name: value}))
    assert flipped > 1_000
    assert list(broken_record(workshop.plans, row.plan_id)) == []


def _is_found(workshop: Workshop, plan_id: str) -> bool:
    try:
        return bool(list(broken_record(workshop.plans, plan_id)))
    except InvariantBroken:
        return True


def _flipped(text: str) -> list[str]:
    return [f"{text[:at]}{chr(ord(text[at]) ^ 1)}{text[at + 1 :]}" for at in range(len(text))] or ["x"]


def test_a_flipped_byte_of_the_sealed_plan_is_found(workshop):
    plan = a_plan(workshop)
    row = workshop.awaiting(plan)
    data = bytearray(plan_bytes(plan))
    for at in range(0, len(data), 7):
        data[at] ^= 1
        workshop.bench.objects.put(plan_key(row.plan_id, row.seal), bytes(data), purpose="test")
        assert list(broken_record(workshop.plans, row.plan_id))
        data[at] ^= 1


def test_an_entry_that_is_taken_away_is_missed(workshop):
    from affidavit.ports.table import Delete

    row = workshop.approved(a_plan(workshop))
    workshop.plans.table.write(Delete(key=Key(pk=f"remediation#{row.plan_id}", sk="entry#000004")))
    assert list(broken_record(workshop.plans, row.plan_id))


@pytest.mark.parametrize(
    ("pattern", "identity", "proof"),
    [
        ("*@example.com", "arn:aws:sts::999999999999:assumed-role/any/eve@example.com", IdentityProof.AWS),
        ("arn:aws:iam::000000000000:user/*", "arn:aws:iam::000000000000:user/eve", IdentityProof.CONSOLE),
    ],
)
def test_a_pattern_names_people_of_one_kind_alone(pattern, identity, proof):
    with pytest.raises(InputRefused, match="may not approve"):
        check_may_approve(Approver(identity=identity, proof=proof), frozenset({pattern}))


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("arn:aws:iam::000000000000:user/alice", "arn:aws:iam::000000000000:user/path/Alice", True),
        ("arn:aws:iam::000000000000:user/alice", "arn:aws:sts::000000000000:assumed-role/ops/alice", True),
        ("alice@example.com", "arn:aws:sts::000000000000:assumed-role/ops/alice@example.com", True),
        ("alice@example.com", "arn:aws:iam::000000000000:user/alice", True),
        ("alice@example.com", "\uff41lice@example.com ", True),
        ("alice@example.com", "alice@elsewhere.example", False),
        ("arn:aws:iam::000000000000:user/alice", "arn:aws:iam::000000000000:user/bob", False),
        ("alice@example.com", "arn:aws:iam::000000000000:user/bob", False),
    ],
)
def test_in_doubt_two_names_are_one_person(one, other, is_same):
    assert is_same_person(one, other) is is_same_person(other, one) is is_same
    assert len(others_than("robot", [one, other])) == (1 if is_same else 2)
    assert others_than(one, [other]) == ([] if is_same else [other])


def test_a_record_that_grows_while_it_is_proven_is_not_called_broken(workshop):
    row = workshop.awaiting(a_plan(workshop, needed_approvals=2))
    stored, looks = workshop.plans.stored_entries, []

    def meanwhile(plan_id: str) -> Any:
        looks.append(plan_id)
        if len(looks) == 1:
            approve(workshop, row, ALICE)
        return stored(plan_id)

    workshop.plans.stored_entries = meanwhile
    assert list(broken_record(workshop.plans, row.plan_id)) == []
