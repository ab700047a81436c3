"""One node scenario through the supervisor: its bundle is taken in, its alarm fires, and what was kept is judged."""

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from affidavit.errors import AffidavitError, InputRefused
from affidavit.evaluation.incidents.metrics import IncidentRun
from affidavit.evaluation.incidents.node_scenarios import NodeIncidentScenario
from affidavit.evaluation.incidents.workload_runs import REMAINING
from affidavit.evaluation.nodes.bundles import place
from affidavit.evaluation.nodes.verdicts.runs import remove_files
from affidavit.evidence.diagnosis import Grade, ProducedBy
from affidavit.incidents.incident import Incident, IncidentId
from affidavit.incidents.intake.event_reader import read_alert
from affidavit.incidents.store.state import Status
from affidavit.incidents.supervisor import Supervisor
from affidavit.investigation import analyze
from affidavit.nodes.ingest.bundle_intake import ingest
from affidavit.nodes.library.indexed_bundles import IndexMarker, Library
from affidavit.verification.pointer_check import verify


def run_node_incident(
    scenario: NodeIncidentScenario, attempts: Sequence[int], supervisor: Supervisor, library: Library
) -> list[IncidentRun]:
    """One run an attempt, all about one bundle. `library` has the stores of `supervisor`."""
    try:
        marker = _taken_in(scenario, library)
    except AffidavitError as error:
        return [_failed(scenario, attempt, error) for attempt in attempts]
    return [_run(scenario, attempt, marker, supervisor, library) for attempt in attempts]


def _run(
    scenario: NodeIncidentScenario, attempt: int, marker: IndexMarker, supervisor: Supervisor, library: Library
) -> IncidentRun:
    started = time.perf_counter()
    try:
        incident = _incident(scenario, marker, library, attempt)
        supervisor.receive(incident, remaining=REMAINING)
        spent = time.perf_counter() - started
        return replace(_read_back(scenario, incident.incident_id, supervisor), attempt=attempt, seconds=spent)
    except AffidavitError as error:
        return _failed(scenario, attempt, error)


def _failed(scenario: NodeIncidentScenario, attempt: int, error: AffidavitError) -> IncidentRun:
    return IncidentRun(scenario=scenario.scenario_id, attempt=attempt, fault_types=None, failure=str(error))


def _taken_in(scenario: NodeIncidentScenario, library: Library) -> IndexMarker:
    with tempfile.TemporaryDirectory(prefix="affidavit-node-") as folder:
        bundle = place(scenario.case.scenario, Path(folder)).path
        remove_files(bundle, scenario.case.without)
        return ingest(bundle, library, analyze=analyze, workers=1).marker


def _incident(scenario: NodeIncidentScenario, marker: IndexMarker, library: Library, attempt: int) -> Incident:
    """Its own bundle is given along: there is no AWS here to collect one from."""
    at = library.index(marker).clock.collected_at or library.clock.now()
    told = read_alert(_alarm(marker.instance_id, at), now=at)
    if not isinstance(told, Incident):
        raise InputRefused(f"scenario {scenario.scenario_id}: its alarm is no incident")
    name = IncidentId(f"eval-{scenario.scenario_id}-{attempt}")
    return replace(told, incident_id=name, may_join=None, given_index=marker.index_id)


def _alarm(instance_id: str, at: datetime) -> Mapping[str, Any]:
    return {
        "AlarmName": f"status-check-{instance_id}",
        "NewStateValue": "ALARM",
        "NewStateReason": "Threshold Crossed: 2 datapoints were greater than the threshold (0.0).",
        "StateChangeTime": at.isoformat(),
        "Trigger": {
            "MetricName": "StatusCheckFailed",
            "Dimensions": [{"name": "InstanceId", "value": instance_id}],
        },
    }


def _read_back(scenario: NodeIncidentScenario, incident_id: IncidentId, supervisor: Supervisor) -> IncidentRun:
    state, context = supervisor.states.get_state(incident_id), supervisor.contexts.get_context(incident_id)
    if state is None or context is None:
        return IncidentRun(scenario=scenario.scenario_id, fault_types=None, failure="nothing was stored")
    entries = supervisor.records.entries(context.ledger)
    stored = [one for one in (context.diagnosis, context.best_so_far) if one is not None]
    verdicts = [pointer for one in stored for pointer in verify(one, entries, supervisor.source).pointers]
    diagnosis = context.diagnosis if state.status is Status.DIAGNOSED else None
    return IncidentRun(
        scenario=scenario.scenario_id,
        fault_types=None if diagnosis is None else frozenset(fault.value for fault in diagnosis.fault_types),
        claims=len(verdicts),
        verified_claims=sum(pointer.holds for pointer in verdicts),
        claimed=len(verdicts),
        is_proven=diagnosis is not None and diagnosis.grade is Grade.PROVEN,
        is_by_rules=diagnosis is not None and diagnosis.produced_by is ProducedBy.RULES,
        is_false=diagnosis is not None and frozenset(diagnosis.fault_types) != scenario.truth.fault_types,
        tool_calls=len(context.tools_called),
        chat_calls=context.llm_calls,
        tokens=context.token_usage.total_tokens,
        failure="" if diagnosis is not None else state.error_reason or state.status.value,
    )
