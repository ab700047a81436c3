"""The result of a whole run as one record: what the terminal, the JSON file and the page all show."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from affidavit.errors import InputRefused
from affidavit.evaluation.gates import GateResult
from affidavit.evaluation.incidents.chat_model_attacks import AdversarialResult, adversarial_numbers
from affidavit.evaluation.incidents.result import IncidentsResult, Numbers, incident_numbers
from affidavit.evaluation.nodes.evaluated_tools import ANALYZE
from affidavit.evaluation.nodes.result import NodesResult

VERSION = "1.0"


@dataclass(frozen=True, kw_only=True)
class EvaluationResult:
    version: str
    evaluated_at: datetime
    knowledge_version: str
    seconds: float
    nodes: NodesResult | None
    incidents: IncidentsResult | None = None
    adversarial: AdversarialResult | None = None
    gates: tuple[GateResult, ...] = ()

    @property
    def passes(self) -> bool:
        return all(gate.holds for gate in self.gates)


_ADAPTER = TypeAdapter(EvaluationResult)


def measured(result: EvaluationResult) -> Mapping[str, float | None]:
    """Every number a gate can name."""
    return {
        **_node_numbers(result.nodes),
        **incident_numbers(result.incidents),
        **adversarial_numbers(result.adversarial),
    }


def _node_numbers(nodes: NodesResult | None) -> Mapping[str, float | None]:
    if nodes is None:
        return {}
    numbers: Numbers = {**nodes.metrics[ANALYZE], **nodes.counts, **_least(nodes)}
    if nodes.verdicts:
        numbers["verdicts_right"] = sum(not each.trouble for each in nodes.verdicts) / len(nodes.verdicts)
        numbers["verdicts_leading_right"] = sum(each.leads for each in nodes.verdicts) / len(nodes.verdicts)
    if nodes.mutations is not None:
        numbers["uncovered"] = sum(mutation.caught_by is None for mutation in nodes.mutations)
    return {f"nodes.{name}": value for name, value in numbers.items()}


def _least(nodes: NodesResult) -> Numbers:
    """The lowest of any tool: an average would hide one that is wrong."""
    shares = ("finding_precision", "severity_accuracy", "citation_accuracy")
    told = {name: [numbers[name] for numbers in nodes.metrics.values()] for name in shares}
    return {f"least_{name}": min(value for value in values if value is not None) for name, values in told.items()}


def result_to_json(result: EvaluationResult) -> bytes:
    return _ADAPTER.dump_json(result, indent=1) + b"\n"


def result_from_json(path: Path) -> EvaluationResult:
    try:
        return parsed_result(path.read_bytes(), str(path))
    except OSError as error:
        raise InputRefused(f"{path} cannot be read: {error.strerror}", hint="give an evaluation.json") from error


def parsed_result(text: bytes, name: str) -> EvaluationResult:
    try:
        return _ADAPTER.validate_json(text)
    except ValidationError as error:
        raise InputRefused(f"{name} is no result of an evaluation", hint="give an evaluation.json of --out") from error
