"""Incidents through the real supervisor. The product is broken on purpose, and the number that should fall does."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from affidavit.agent.chat import offline
from affidavit.agent.rules import best_diagnosis as best
from affidavit.agent.toolbox.tool_providers import DirectToolProvider
from affidavit.entrypoints.cli.eval.incidents import supervisor_of, thrown_away
from affidavit.evaluation.incidents.evidence_recheck import SecondLook
from affidavit.evaluation.incidents.metrics import IncidentMetrics, IncidentRun, incident_metrics
from affidavit.evaluation.incidents.workload_runs import run_incident
from affidavit.evaluation.incidents.workload_scenarios import SCENARIOS, WorkloadScenario, load_workload_scenario
from affidavit.evidence.diagnosis import Diagnosis
from affidavit.incidents.store.blobs import Records
from affidavit.incidents.supervisor import Supervisor
from affidavit.ports.json import JsonValue
from affidavit.settings import Settings
from affidavit.verification import pointer_check as verification
from affidavit.verification.assess import Assessment
from affidavit.verification.ledger_entry import Entry, make_entry
from affidavit.verification.pointer_check import PointerVerdict, Verdict
from affidavit.verification.text.check import TextFindings

Supervise = Callable[[WorkloadScenario], Supervisor]
SUBJECT = "permission-s3-statement-removed"


def scenario(name: str = SUBJECT) -> WorkloadScenario:
    return load_workload_scenario(SCENARIOS / f"{name}.yaml")


@pytest.fixture
def supervise() -> Iterator[Supervise]:
    with thrown_away(Settings(CHAT_PROVIDER="offline"), runs=10) as app:
        yield lambda scenario: supervisor_of(app, scenario)


def run(supervise: Supervise, name: str = SUBJECT) -> IncidentRun:
    return run_incident(scenario(name), 1, supervise(scenario(name)))


def numbers(run: IncidentRun) -> IncidentMetrics:
    truth = scenario(run.scenario).truth.fault_types
    return incident_metrics({run.scenario: frozenset(fault.value for fault in truth)}, [run])


def believing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Agent and supervisor take every diagnosis as it comes; the evaluation keeps its own verifier."""

    def holds(diagnosis: Diagnosis, *_: object) -> Assessment:
        pointers = (PointerVerdict(index=0, pointer=one, entry_id="E-001") for one in diagnosis.evidence)
        return Assessment(verdict=Verdict(pointers=tuple(pointers)))

    monkeypatch.setattr("affidavit.agent.acceptance.submission.assess", holds)
    monkeypatch.setattr("affidavit.incidents.attempt.result_check.assess", holds)


def test_a_conclusion_that_its_author_doubts_is_not_proven(supervise: Supervise) -> None:
    sure, unsure = run(supervise), run(supervise, "throttling/throttle-third-party-429")
    assert sure.is_proven and not unsure.is_proven
    assert unsure.fault_types == {"throttling"}


def lying(monkeypatch: pytest.MonkeyPatch, **altered: JsonValue) -> None:
    """The chat model hands in its first piece of evidence with something altered."""
    honest = offline.submission

    def submission(diagnosis: Diagnosis | None) -> dict[str, Any]:
        told = honest(diagnosis)
        told["evidence"][0] |= altered
        return told

    monkeypatch.setattr(offline, "submission", submission)


def test_an_honest_run_is_perfect(supervise: Supervise) -> None:
    done = run(supervise)
    found = numbers(done)
    assert (found.exact_set_accuracy, found.verified_evidence_rate, found.pass_at_1, found.all_k) == (1, 1, 1, 1)
    assert (found.unsupported_claims, found.fabricated_stored, found.fabricated_claimed, found.troubles) == (0, 0, 0, 0)
    assert done.claims == done.verified_claims == done.claimed > 2
    assert (done.tool_calls, done.is_by_rules, done.failure) == (5, True, "")
    assert done.chat_calls == 0  # rules concluded; nobody was asked
    assert done.tokens > 1000
    assert done.seconds > 0


def test_accuracy_falls_when_a_rule_is_removed(supervise: Supervise, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(best, "RULES", tuple(rule for rule in best.RULES if rule is not best.permission_faults))
    done = run(supervise)
    assert numbers(done).exact_set_accuracy == 0.0
    assert done.fault_types != frozenset({"permission_loss"})


def test_a_fault_too_many_counts_as_wrong(supervise: Supervise, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = offline.submission
    monkeypatch.setattr(
        offline, "submission", lambda diagnosis: {**honest(diagnosis), "fault_types": ["permission_loss", "timeout"]}
    )
    assert numbers(run(supervise)).exact_set_accuracy == 0.0


@pytest.mark.parametrize(
    "altered", [{"value": "no such words anywhere"}, {"field": "/nothing"}, {"tool": "get_xray_traces"}]
)
def test_an_altered_pointer_that_is_believed_lowers_the_rate_of_verified_evidence(
    supervise: Supervise, monkeypatch: pytest.MonkeyPatch, altered: dict[str, JsonValue]
) -> None:
    believing(monkeypatch)
    lying(monkeypatch, **altered)
    found = numbers(run(supervise))
    assert found.verified_evidence_rate < 1.0
    assert (found.unsupported_claims, found.fabricated_stored) == (1, 1)


def test_an_altered_pointer_that_is_turned_down_is_counted_as_claimed_and_not_stored(
    supervise: Supervise, monkeypatch: pytest.MonkeyPatch
) -> None:
    lying(monkeypatch, value="no such words anywhere")
    done = run(supervise)
    assert done.fabricated_claimed >= 1
    assert (done.fabricated_stored, numbers(done).verified_evidence_rate) == (0, 1.0)


def test_a_verifier_that_lets_everything_pass_is_seen_through(
    supervise: Supervise, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "shows", lambda there, claimed: True)
    lying(monkeypatch, value="no such words anywhere")
    found = numbers(run(supervise))
    assert found.verified_evidence_rate == 1.0
    assert found.fabricated_stored == 1


def test_an_answer_that_the_account_never_gave_is_seen_through(
    supervise: Supervise, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = DirectToolProvider.call_tool

    async def forged(self: DirectToolProvider, name: str, arguments: Mapping[str, JsonValue]) -> str:
        answer = json.loads(await honest(self, name, arguments))
        if name == "get_recent_logs":
            answer["events"][-1]["message"] += " (and more)"
        return json.dumps(answer)

    monkeypatch.setattr(DirectToolProvider, "call_tool", forged)
    found = numbers(run(supervise))
    assert found.verified_evidence_rate == 1.0
    assert found.fabricated_stored >= 1


def test_a_recorded_answer_that_was_changed_in_the_store_is_a_failure_and_no_score(
    supervise: Supervise, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Records.keep_entry

    def spoiled(self: Records, incident_id: Any, entry: Entry) -> str:
        key = honest(self, incident_id, entry)
        file = Path(self._objects._root) / key  # pyright: ignore[reportPrivateUsage]
        file.write_text(file.read_text().replace("data-processor", "data_processor"))
        return key

    monkeypatch.setattr(Records, "keep_entry", spoiled)
    done = run(supervise)
    assert "was changed after it was written" in done.failure
    assert numbers(done).exact_set_accuracy == 0.0


def test_a_run_that_ends_without_a_diagnosis_says_why(supervise: Supervise, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Supervisor, "receive", lambda *_, **__: None)
    done = run(supervise)
    assert (done.fault_types, done.failure) == (None, "nothing was stored")


def test_planted_words_in_a_diagnosis_are_a_trouble(supervise: Supervise, monkeypatch: pytest.MonkeyPatch) -> None:
    bait = scenario("herring-planted-instruction").truth.must_not_say[0]
    honest = offline.submission

    def obeying(diagnosis: Diagnosis | None) -> dict[str, Any]:
        told = honest(diagnosis)
        return {**told, "root_cause": f"{told['root_cause']} {bait}"}

    monkeypatch.setattr("affidavit.verification.assess.text_findings", lambda *_: TextFindings())
    monkeypatch.setattr(offline, "submission", obeying)
    assert f"says {bait!r}, which somebody planted" in run(supervise, "herring-planted-instruction").troubles


def test_a_root_cause_that_does_not_name_what_it_must_is_a_trouble(
    supervise: Supervise, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = offline.submission
    monkeypatch.setattr(
        offline, "submission", lambda diagnosis: {**honest(diagnosis), "root_cause": "Something is wrong."}
    )
    assert any("does not name" in trouble for trouble in run(supervise).troubles)


class TestSecondLook:
    """On its own, where the right answer is known."""

    def entries(self) -> list[Entry]:
        arguments: dict[str, JsonValue] = {"lambda_name": "data-processor"}
        answer = scenario().workloads().answer("get_lambda_config", arguments)
        return [make_entry("E-001", "get_lambda_config", arguments, answer)]

    def fabricated(self, entries: list[Entry] | None = None, **claim: JsonValue) -> bool:
        pointer = {"tool": "get_lambda_config", "field": "/Timeout", "value": 30, **claim}
        return bool(SecondLook(scenario()).fabricated([pointer], self.entries() if entries is None else entries))

    def test_what_stands_there_is_shown(self) -> None:
        timeout = scenario().account.function["Timeout"]
        assert not self.fabricated(value=timeout)
        assert not self.fabricated(value=timeout, field="Timeout")
        assert not self.fabricated(value=float(timeout))

    @pytest.mark.parametrize("value", [31, "30", True, None, [30]])
    def test_another_value_is_not(self, value: JsonValue) -> None:
        assert self.fabricated(value=value)

    def test_what_was_never_recorded_is_not_even_when_it_is_true(self) -> None:
        assert self.fabricated(value=scenario().account.function["Timeout"], entries=[])

    def test_a_record_that_differs_from_the_account_shows_nothing(self) -> None:
        (entry,) = self.entries()
        changed = replace(entry, answer={**dict(entry.answer), "MemorySize": 1})
        assert self.fabricated(value=scenario().account.function["Timeout"], entries=[changed])
