"""The store of states: one behaviour a test."""

from datetime import timedelta

import pytest
from tests.support.investigations.incidents import REMAINING, Bench, an_incident

from affidavit.errors import InvariantBroken
from affidavit.incidents.attempt.diagnostician_port import LeaseLost
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.store.state import Due, IncidentState, Lease, Status, state_key
from affidavit.ports.table import ConditionFailed

ID = IncidentId("inc-1")


def taken(bench: Bench) -> Lease:
    return bench.states.write_initial_state(an_incident(), deadline=bench.clock.now() + REMAINING)


def stored(bench: Bench) -> IncidentState:
    state = bench.states.get_state(ID)
    assert state is not None
    return state


def test_get_state_gives_none_for_what_is_not_there(bench: Bench) -> None:
    assert bench.states.get_state(ID) is None


def test_get_state_gives_the_item_with_numbers_as_stored(bench: Bench) -> None:
    taken(bench)
    state = stored(bench)
    assert (state.status, state.epoch, state.attempts) == (Status.RECEIVED, 1, 1)
    assert state.incident == an_incident()
    assert state.lease_expires_at == bench.clock.now().timestamp() + 60
    item = bench.states.table.get(state_key(ID))
    assert item is not None
    assert {"error_reason", "error_category"}.isdisjoint(item)
    assert item["ttl"] == int(bench.clock.now().timestamp()) + 30 * 86_400


def test_write_initial_state_refuses_a_duplicate(bench: Bench) -> None:
    taken(bench)
    with pytest.raises(ConditionFailed):
        taken(bench)


def test_touch_updated_at_moves_the_time_and_the_lease(bench: Bench) -> None:
    lease = taken(bench)
    before = stored(bench)
    bench.clock.pass_by(REMAINING / 10)
    bench.states.touch_updated_at(lease)
    assert stored(bench).updated_at == bench.clock.now()
    assert stored(bench).lease_expires_at > before.lease_expires_at


def test_an_owner_that_gave_a_sign_of_life_since_is_neither_replaced_nor_given_up(bench: Bench) -> None:
    lease = taken(bench)
    bench.clock.pass_by(timedelta(seconds=61))
    seen = stored(bench)
    assert not seen.is_leased(bench.clock.now())
    bench.states.touch_updated_at(lease)
    assert bench.states.take(an_incident(), seen, deadline=bench.clock.now() + REMAINING) is None
    assert not bench.states.give_up(seen, "stale")
    assert (stored(bench).epoch, stored(bench).status) == (lease.epoch, Status.RECEIVED)


def test_transition_state_moves_on_from_the_status_it_was_told(bench: Bench) -> None:
    bench.states.transition_state(taken(bench), Status.RECEIVED, Status.INVESTIGATING)
    assert stored(bench).status is Status.INVESTIGATING


def test_transition_state_raises_when_the_status_is_another(bench: Bench) -> None:
    lease = taken(bench)
    with pytest.raises(LeaseLost):
        bench.states.transition_state(lease, Status.INVESTIGATING, Status.DIAGNOSED)
    assert stored(bench).status is Status.RECEIVED


FORWARD = {
    ("RECEIVED", "INVESTIGATING"),
    ("RECEIVED", "FAILED"),
    ("RECEIVED", "ERROR"),
    ("RECEIVED", "AWAITING_EVIDENCE"),
    ("INVESTIGATING", "DIAGNOSED"),
    ("INVESTIGATING", "FAILED"),
    ("INVESTIGATING", "ERROR"),
    ("DIAGNOSED", "AWAITING_APPROVAL"),
    ("AWAITING_APPROVAL", "REMEDIATING"),
    ("REMEDIATING", "REMEDIATED"),
    # A plan that ended otherwise, or was undone.
    ("AWAITING_APPROVAL", "DIAGNOSED"),
    ("REMEDIATING", "DIAGNOSED"),
    ("REMEDIATED", "REMEDIATING"),
}


def test_only_these_steps_are_possible() -> None:
    assert {(one.value, other.value) for one in Status for other in Status if one.may_become(other)} == FORWARD


def test_a_step_that_does_not_exist_is_refused_before_anything_is_written(bench: Bench) -> None:
    lease = taken(bench)
    with pytest.raises(InvariantBroken, match="RECEIVED never becomes DIAGNOSED"):
        bench.states.transition_state(lease, Status.RECEIVED, Status.DIAGNOSED)
    assert stored(bench).status is Status.RECEIVED


@pytest.mark.parametrize("status", list(Status))
def test_what_has_a_diagnosis_is_past_it(status: Status) -> None:
    after = {"DIAGNOSED", "AWAITING_APPROVAL", "REMEDIATING", "REMEDIATED"}
    assert status.has_diagnosis == (status.value in after)


def test_transition_state_keeps_reason_and_category(bench: Bench) -> None:
    lease = taken(bench)
    bench.states.transition_state(lease, Status.RECEIVED, Status.ERROR, reason="no route", category="mcp_connection")
    assert (stored(bench).error_reason, stored(bench).error_category) == ("no route", "mcp_connection")


def test_a_reason_has_at_most_500_characters_and_shows_that_it_was_cut(bench: Bench) -> None:
    bench.states.transition_state(taken(bench), Status.RECEIVED, Status.FAILED, reason="x" * 501)
    reason = stored(bench).error_reason
    assert reason is not None
    assert len(reason) == 500
    assert reason.endswith("…")


def test_without_reason_and_category_both_are_absent(bench: Bench) -> None:
    lease = taken(bench)
    bench.states.transition_state(lease, Status.RECEIVED, Status.INVESTIGATING)
    bench.states.transition_state(lease, Status.INVESTIGATING, Status.DIAGNOSED)
    item = bench.states.table.get(state_key(ID))
    assert item is not None
    assert {"error_reason", "error_category", "due", "due_at"}.isdisjoint(item)


def test_a_lease_that_ran_out_stands_in_the_index_until_the_incident_ends(bench: Bench) -> None:
    lease = taken(bench)
    assert bench.states.due(Due.LEASE) == []
    bench.clock.pass_by(REMAINING)
    assert [state.incident.incident_id for state in bench.states.due(Due.LEASE)] == [ID]
    bench.states.transition_state(lease, Status.RECEIVED, Status.FAILED, reason="x")
    assert bench.states.due(Due.LEASE) == []


def test_incidents_are_listed_by_the_day_they_came_newest_first(bench: Bench) -> None:
    for name in ("inc-a", "inc-b"):
        bench.states.write_initial_state(an_incident(name), deadline=bench.clock.now() + REMAINING)
        bench.clock.pass_by(REMAINING)
    listed = bench.states.listed(bench.clock.now(), limit=10)
    assert [state.incident.incident_id for state in listed] == ["inc-b", "inc-a"]
