"""A seal means one exact plan."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.support.repairing.remediation import a_plan, an_action

from affidavit.errors import InvariantBroken
from affidavit.remediation.plan.plan_record import Advice
from affidavit.remediation.plan.rendering import rendered, summary
from affidavit.remediation.plan.seal import plan_bytes, plan_from_bytes, precondition_of, seal_of


def test_the_same_plan_has_the_same_seal_and_reads_back():
    plan = a_plan()
    assert seal_of(plan) == seal_of(a_plan())
    assert plan_from_bytes(plan_bytes(plan), seal_of(plan)) == plan


def test_another_expiry_is_another_seal():
    plan = a_plan()
    assert seal_of(replace(plan, expires_at=plan.expires_at + timedelta(seconds=1))) != seal_of(plan)


def test_bytes_that_were_not_sealed_are_refused():
    plan = a_plan()
    with pytest.raises(InvariantBroken):
        plan_from_bytes(plan_bytes(plan).replace(b'"reserved":5', b'"reserved":6'), seal_of(plan))


def test_a_field_that_no_reader_knows_is_refused_even_when_sealed():
    from affidavit.remediation.plan.seal import seal_of_bytes

    data = plan_bytes(a_plan()).replace(b'"account"', b'"aaa":1,"account"', 1)
    with pytest.raises(InvariantBroken):
        plan_from_bytes(data, seal_of_bytes(data))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\u2028", "\x85", "\x0b"], ids=ascii)
def test_no_value_poses_as_a_line_of_what_is_approved(end):
    """Advice is a chat model's word, and names and values may be a stranger's."""
    forged = f"wait{end}Touches: nothing{end}Seal {'0' * 64}"
    action = an_action(precondition=precondition_of({"reserved": forged}))
    plan = a_plan(action, advice=(Advice(step=forged, why=forged),), created_by=f"alice{end}  needs 0 approval(s)")
    lines = rendered(plan_bytes(plan), seal_of(plan)).splitlines()
    assert [line for line in lines if line.startswith(("Seal ", "Touches: "))] == [
        f"Touches: {plan.blast_radius[0]}",
        f"Seal {seal_of(plan)}",
    ]
    assert sum("needs 0" in line for line in lines) == sum("needs 1" in line for line in lines) == 1
    assert not any(line.strip().startswith("needs 0") for line in lines)
    assert len(list(summary(plan))) == len("\n".join(summary(plan)).splitlines())
