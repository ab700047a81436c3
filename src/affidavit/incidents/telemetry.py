"""Writes log lines: JSON for people and queries, EMF for CloudWatch metrics. CloudWatch does the counting."""

import json
from collections.abc import Callable, Mapping

from affidavit.evidence.diagnosis import TokenUsage
from affidavit.incidents.attempt.diagnostician_port import AgentResult
from affidavit.incidents.incident import IncidentId
from affidavit.ports.clock import Clock
from affidavit.ports.json import JsonValue

# A line of the log is for reading; the stored chain has every word.
MOST_CHARACTERS = 2_000
NAMESPACE = "Affidavit/Incidents"
Emit = Callable[[str], None]


def to_stdout(line: str) -> None:
    print(line, flush=True)


def to_nowhere(line: str) -> None:
    """For a person at a terminal, who reads the answer instead."""


class Telemetry:
    def __init__(self, emit: Emit, clock: Clock) -> None:
        self._emit, self._clock = emit, clock

    def log(self, event: str, **fields: JsonValue) -> None:
        self._emit(json.dumps({"event": event, **fields}, default=str))

    def count(self, **metrics: int) -> None:
        """CloudWatch's embedded metric format: a log line that becomes metrics."""
        described = [{"Name": name, "Unit": "Count"} for name in metrics]
        directive: dict[str, JsonValue] = {"Namespace": NAMESPACE, "Dimensions": [[]], "Metrics": described}
        stamp = int(self._clock.now().timestamp() * 1000)
        self._emit(json.dumps({"_aws": {"Timestamp": stamp, "CloudWatchMetrics": [directive]}, **metrics}))

    def report(self, incident_id: IncidentId, result: AgentResult, *, max_tokens: int, spent: TokenUsage) -> None:
        """The lines of every run, failed ones included, and its metrics. `spent` is what earlier attempts used.

        CloudWatch adds the metrics up, so each attempt counts only its own tokens.
        """
        own = result.token_usage.total_tokens - spent.total_tokens
        self.log("agent_metrics", **agent_metrics(incident_id, result, max_tokens=max_tokens))
        for number, problems in enumerate(result.refusals, start=1):
            self.log("submission_refused", incident_id=incident_id, number=number, problems=problems[:MOST_CHARACTERS])
        self.log("agent_reasoning_summary", **reasoning_summary(incident_id, result))
        self.count(LlmCalls=result.llm_calls, TotalTokens=own)


def agent_metrics(incident_id: IncidentId, result: AgentResult, *, max_tokens: int) -> dict[str, JsonValue]:
    usage = result.token_usage
    return {
        "incident_id": incident_id,
        "llm_calls": result.llm_calls,
        "total_prompt_tokens": usage.prompt_tokens,
        "total_completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
        "budget_remaining": max(0, max_tokens - usage.total_tokens),
    }


def reasoning_summary(incident_id: IncidentId, result: AgentResult) -> Mapping[str, JsonValue]:
    diagnosis = result.diagnosis
    return {
        "incident_id": incident_id,
        "outcome": result.outcome,
        "produced_by": diagnosis.produced_by if diagnosis is not None else None,
        "tools_called": list(result.tools_called),
        "fault_types": list(diagnosis.fault_types) if diagnosis is not None else [],
        "root_cause": diagnosis.root_cause if diagnosis is not None else None,
        "severity": diagnosis.severity if diagnosis is not None else None,
        "steps": result.steps,
    }
