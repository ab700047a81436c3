"""When a node's incident may be investigated, and on which bundle."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.investigations.incidents import Bench, Mailbox, a_bench, an_incident

from affidavit.errors import EvidenceUnavailable
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.incidents.delivery_outcome import Handled
from affidavit.incidents.evidence.node_evidence_port import (
    BundleAtHand,
    CollectionStanding,
    CollectionState,
    collection_token,
)
from affidavit.incidents.evidence.readiness import COLLECTION_DEADLINE, GIVEN, EvidenceAwaited, EvidenceReady, Readiness
from affidavit.incidents.incident import Incident
from affidavit.incidents.store.state import Due, Status
from affidavit.incidents.watchdog import tick

NODE = Subject(kind=SubjectKind.NODE, id="i-0a11ce0000000001")
AT = datetime(2026, 1, 15, 10, 0, tzinfo=UTC)
ALERT = an_incident(subject=NODE, resources=(NODE.id,), cluster="demo", occurred_at=AT)
MINUTE = timedelta(minutes=1)


def a_bundle(name: str = "ix-1", at: datetime | None = AT, unproven: str = "") -> BundleAtHand:
    return BundleAtHand(index_id=name, collected_at=at, indexed_at=AT, unproven=unproven)


WORKING = CollectionStanding(state=CollectionState.WORKING, says="InProgress")


@dataclass
class Evidence:
    stored: list[BundleAtHand] = field(default_factory=list)
    standing: CollectionStanding = WORKING
    tokens: list[str] = field(default_factory=list)
    error: Exception | None = None

    def bundles(self, instance_id: str) -> Sequence[BundleAtHand]:
        if self.error is not None:
            raise self.error
        return self.stored

    def collect(self, incident: Incident) -> CollectionStanding:
        self.tokens.append(collection_token(incident))
        return self.standing

    def peers(self, incident: Incident) -> Sequence[str]:
        return ("i-0a11ce0000000002",)


def decided(evidence: Evidence, now: datetime = AT, since: datetime | None = None) -> dict[str, Any]:
    found = Readiness(evidence=evidence).of(ALERT, now=now, since=since)
    assert isinstance(found, EvidenceReady)
    return dict(found.record)


@pytest.mark.parametrize("minutes", [-15, 0, 60])
def test_a_bundle_of_the_time_of_the_alert_serves_and_nothing_is_collected(minutes: int) -> None:
    evidence = Evidence(stored=[a_bundle(at=AT + minutes * MINUTE)])
    record = decided(evidence)
    assert (record["index_id"], record["is_fresh"], record["gaps"]) == ("ix-1", True, [])
    assert evidence.tokens == []


@pytest.mark.parametrize("at", [AT - 16 * MINUTE, None])
def test_an_older_bundle_does_not_serve_while_one_can_be_collected(at: datetime | None) -> None:
    found = Readiness(evidence=Evidence(stored=[a_bundle(at=at)])).of(ALERT, now=AT, since=None)
    assert isinstance(found, EvidenceAwaited)
    assert (found.since, found.due_at) == (AT, AT + 2 * MINUTE)


def test_the_deadline_counts_from_the_first_waiting_and_then_it_goes_on_with_what_there_is() -> None:
    evidence = Evidence(stored=[a_bundle(at=AT - 60 * MINUTE)])
    last = Readiness(evidence=evidence).of(ALERT, now=AT + 14 * MINUTE, since=AT)
    assert isinstance(last, EvidenceAwaited)
    assert last.due_at == AT + COLLECTION_DEADLINE
    record = decided(evidence, now=AT + COLLECTION_DEADLINE, since=AT)
    assert (record["index_id"], record["is_fresh"]) == ("ix-1", False)
    assert "no bundle was collected for this incident: InProgress" in record["gaps"][0]
    assert "this rests on a bundle of 2026-01-15 09:00 UTC" in record["gaps"][1]


def test_what_was_collected_for_the_incident_serves_whatever_its_own_clock_says() -> None:
    done = CollectionStanding(state=CollectionState.DONE, says="done", index_id="ix-2")
    stored = [a_bundle("ix-3", AT - 90 * MINUTE), a_bundle("ix-2", AT - 900 * MINUTE)]
    record = decided(Evidence(stored=stored, standing=done))
    assert (record["index_id"], record["is_fresh"], record["gaps"]) == ("ix-2", True, [])


def test_a_bundle_that_somebody_uploaded_is_never_rested_on_without_saying_so() -> None:
    """However new it claims to be, a proven one is taken before it."""
    refused = CollectionStanding(state=CollectionState.REFUSED, says="switched off")
    poisoned = a_bundle("ix-bad", AT + MINUTE, unproven="somebody uploaded it")
    with_proven = decided(Evidence(stored=[poisoned, a_bundle("ix-good", AT - 60 * MINUTE)], standing=refused))
    alone = decided(Evidence(stored=[poisoned], standing=refused))
    assert (with_proven["index_id"], with_proven["origin_proven"]) == ("ix-good", True)
    assert (alone["index_id"], alone["origin_proven"]) == ("ix-bad", False)
    assert "the origin of the bundle is not proven: somebody uploaded it" in alone["gaps"]


def test_who_gives_a_bundle_along_vouches_for_it_and_nothing_is_collected() -> None:
    evidence = Evidence(stored=[a_bundle("ix-new"), a_bundle("ix-mine", AT - 900 * MINUTE, unproven="uploaded")])
    found = Readiness(evidence=evidence).of(replace(ALERT, given_index="ix-mine"), now=AT, since=None)
    assert isinstance(found, EvidenceReady)
    assert (found.record["index_id"], found.record["given"], found.record["is_fresh"]) == ("ix-mine", True, True)
    assert found.record["gaps"] == [GIVEN]
    assert evidence.tokens == []


def test_without_any_bundle_the_investigation_says_that_nothing_was_seen() -> None:
    failed = CollectionStanding(state=CollectionState.FAILED, says="it failed", tried=("ssm: offline",))
    record = decided(Evidence(standing=failed))
    assert record["index_id"] is None
    assert record["gaps"] == [
        "no bundle was collected for this incident: it failed",
        "ssm: offline",
        f"there is no bundle of {NODE.id}, so its logs were not seen",
    ]


def test_stores_that_do_not_answer_are_a_gap_and_no_crash() -> None:
    failed = CollectionStanding(state=CollectionState.REFUSED, says="off")
    record = decided(Evidence(standing=failed, error=EvidenceUnavailable("the bucket is gone")))
    assert "could not be listed: the bucket is gone" in record["gaps"][0]


# --- through the supervisor ------------------------------------------------------------------------------------------


def waiting_bench(folder: Path, evidence: Evidence, mailbox: Mailbox | None = None) -> Bench:
    bench = a_bench(folder, mailbox=mailbox)
    bench.clock.pass_by(AT - bench.clock.now())
    supervisor = replace(bench.supervisor, readiness=Readiness(evidence=evidence))
    return replace(bench, supervisor=supervisor)


def receive(bench: Bench, alert: Incident = ALERT) -> Handled:
    return bench.supervisor.receive(alert, remaining=5 * MINUTE).handled


def status_of(bench: Bench) -> Status:
    state = bench.states.get_state(ALERT.incident_id)
    assert state is not None
    return state.status


def test_a_node_without_evidence_waits_and_costs_nobody_anything(tmp_path: Path) -> None:
    mailbox = Mailbox()
    bench = waiting_bench(tmp_path, evidence := Evidence(), mailbox)
    assert receive(bench) is Handled.AWAITING
    state = bench.states.get_state(ALERT.incident_id)
    assert state is not None
    assert (state.status, state.due, state.attempts) == (Status.AWAITING_EVIDENCE, Due.EVIDENCE, 1)
    assert state.status.is_open
    assert (bench.scripted.runs, mailbox.notices) == ([], [])
    assert receive(bench) is Handled.SKIPPED
    assert len(evidence.tokens) == 1, "a duplicate asks nobody"


def test_the_end_of_indexing_wakes_the_incident_and_it_is_investigated_once(tmp_path: Path) -> None:
    bench = waiting_bench(tmp_path, evidence := Evidence())
    receive(bench)
    evidence.stored.append(a_bundle())
    (woken,) = bench.supervisor.wake(NODE, remaining=5 * MINUTE)
    assert (woken.handled, status_of(bench)) == (Handled.RAN, Status.DIAGNOSED)
    assert bench.supervisor.wake(NODE, remaining=5 * MINUTE) == []
    assert bench.scripted.runs == [ALERT.incident_id]
    assert set(evidence.tokens) == {collection_token(ALERT)}


def test_a_wake_that_comes_too_early_lets_the_incident_wait_on(tmp_path: Path) -> None:
    bench = waiting_bench(tmp_path, Evidence())
    receive(bench)
    (woken,) = bench.supervisor.wake(NODE, remaining=5 * MINUTE)
    assert (woken.handled, status_of(bench)) == (Handled.AWAITING, Status.AWAITING_EVIDENCE)


def test_the_watchdog_finds_the_bundle_when_the_wake_was_lost(tmp_path: Path) -> None:
    bench = waiting_bench(tmp_path, evidence := Evidence())
    receive(bench)
    evidence.stored.append(a_bundle())
    assert tick(bench.supervisor, until=bench.clock.now() + 10 * MINUTE).driven == 0, "it is not due yet"
    bench.clock.pass_by(2 * MINUTE)
    assert tick(bench.supervisor, until=bench.clock.now() + 10 * MINUTE).driven == 1
    assert status_of(bench) is Status.DIAGNOSED


def test_waiting_uses_up_no_attempt_and_ends_at_the_deadline(tmp_path: Path) -> None:
    bench = waiting_bench(tmp_path, Evidence())
    receive(bench)
    rounds = 0
    while status_of(bench) is Status.AWAITING_EVIDENCE:
        bench.clock.pass_by(2 * MINUTE)
        tick(bench.supervisor, until=bench.clock.now() + 10 * MINUTE)
        rounds += 1
    state = bench.states.get_state(ALERT.incident_id)
    assert state is not None
    assert (rounds, state.attempts) == (8, 1)
    assert bench.clock.now() - AT < COLLECTION_DEADLINE + 2 * MINUTE


def test_what_was_chosen_is_recorded_among_the_answers(tmp_path: Path) -> None:
    bench = waiting_bench(tmp_path, Evidence(stored=[a_bundle()]))
    receive(bench)
    context = bench.contexts.get_context(ALERT.incident_id)
    assert context is not None
    (chosen,) = [one for one in bench.supervisor.records.entries(context.ledger) if one.tool == "node_evidence"]
    assert isinstance(chosen.answer, dict)
    assert (chosen.answer["index_id"], chosen.answer["peers"]) == ("ix-1", ["i-0a11ce0000000002"])


def test_a_function_never_waits(tmp_path: Path) -> None:
    bench = waiting_bench(tmp_path, evidence := Evidence())
    assert receive(bench, an_incident("inc-f")) is Handled.RAN
    assert evidence.tokens == []
