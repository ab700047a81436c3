"""A seal means one exact plan."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.support.remediation import a_plan

from affidavit.errors import InvariantBroken
from affidavit.remediation.plan.seal import plan_bytes, plan_from_bytes, seal_of


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
