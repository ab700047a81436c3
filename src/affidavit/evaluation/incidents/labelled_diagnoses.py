"""Loads honest and false diagnoses over recorded answers, as a chat model would submit them. Which are false is known.

One YAML file a situation. `pointers` and `steps` have names, because many diagnoses share them; every pointer is true.
What is false is the cause, a sentence, a step or a name.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from affidavit.errors import InputRefused
from affidavit.evidence.diagnosis import Claim, Diagnosis, ProducedBy
from affidavit.verification.ledger_entry import Entry, make_entry
from affidavit.verification.names_from_incident import About
from affidavit.yaml_loading import load_yaml

SITUATIONS = Path(__file__).parents[1] / "scenarios" / "lies"


class LieKind(StrEnum):
    WRONG_FAULT = "wrong_fault"
    CONTRADICTED_VALUE = "contradicted_value"
    CUT_QUOTE = "cut_quote"
    WRONG_UNIT = "wrong_unit"
    WRONG_MAGNITUDE = "wrong_magnitude"
    WRONG_TIME = "wrong_time"
    INVENTED_NAME = "invented_name"
    FOREIGN_PRINCIPAL = "foreign_principal"
    FALSE_ABSENCE = "false_absence"
    FALSE_OVER = "false_over"
    FALSE_HEALTHY = "false_healthy"
    PROMPT_INJECTED = "prompt_injected"
    DANGEROUS_PLAN = "dangerous_plan"
    MISLABELLED_PLAN = "mislabelled_plan"
    """The step is sensible, but is submitted as one without risk that needs no approval."""


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Pointer(_Record):
    tool: str
    field: str
    value: JsonValue


class _Step(_Record):
    action: str
    details: str
    basis: list[str]
    """Names of pointers."""
    risk: Literal["low", "medium", "high"]
    approval: bool


class _Told(_Record):
    cause: str
    faults: list[str] = Field(default_factory=list[str])
    about: list[str] = Field(default_factory=list[str])
    severity: str
    evidence: list[list[str]]
    """Each the name of a pointer, what is said of it, and its claim unless it is `shows`."""
    plan: list[str] = Field(default_factory=list[str])
    gaps: list[str] = Field(default_factory=list[str])
    confidence: str


class _Lie(_Told):
    kind: LieKind
    false_because: str


class _File(_Record):
    function: str
    account: str
    region: str
    alert: str
    answers: dict[str, JsonValue]
    pointers: dict[str, _Pointer]
    steps: dict[str, _Step]
    honest: list[_Told]
    lies: list[_Lie]


@dataclass(frozen=True, kw_only=True)
class ToldDiagnosis:
    """`kind` is None for an honest one."""

    name: str
    kind: LieKind | None
    false_because: str
    diagnosis: Diagnosis


@dataclass(frozen=True, kw_only=True)
class ToldSituation:
    entries: tuple[Entry, ...]
    about: About
    told: tuple[ToldDiagnosis, ...]


def load_told_situations(folder: Path = SITUATIONS) -> list[ToldSituation]:
    """In the order of their paths. Raises InputRefused naming the file that does not load."""
    return [_situation(path) for path in sorted(folder.glob("*.yaml"))]


def _situation(path: Path) -> ToldSituation:
    try:
        file = _File.model_validate(load_yaml(path.read_text("utf-8")))
        told = tuple(_told(path.stem, file))
    except (OSError, ValidationError, yaml.YAMLError, KeyError, ValueError) as error:
        raise InputRefused(f"{path} does not load: {error}", hint="correct the file") from error
    asked: dict[str, JsonValue] = {"lambda_name": file.function}
    entries = [make_entry(f"E-{n:03d}", tool, asked, answer) for n, (tool, answer) in enumerate(file.answers.items())]
    about = About(names=(file.function, file.account, file.region), alert=file.alert)
    return ToldSituation(entries=tuple(entries), about=about, told=told)


def _told(name: str, file: _File) -> Iterator[ToldDiagnosis]:
    for number, one in enumerate([*file.honest, *file.lies]):
        is_lie = isinstance(one, _Lie)
        yield ToldDiagnosis(
            name=f"{name} {number + 1}",
            kind=one.kind if is_lie else None,
            false_because=one.false_because if is_lie else "",
            diagnosis=_diagnosis(one, file),
        )


def _diagnosis(one: _Told, file: _File) -> Diagnosis:
    cited = [entry[0] for entry in one.evidence]
    evidence = [
        {
            **file.pointers[entry[0]].model_dump(),
            "interpretation": entry[1],
            "claim": entry[2] if len(entry) > 2 else Claim.SHOWS,
        }
        for entry in one.evidence
    ]
    return Diagnosis.model_validate(
        {
            "root_cause": one.cause,
            "fault_types": one.faults,
            "affected_resources": one.about,
            "severity": one.severity,
            "evidence": evidence,
            "remediation_plan": [_step(file.steps[step], cited) for step in one.plan],
            "gaps": one.gaps,
            "confidence": one.confidence,
            "produced_by": ProducedBy.CHAT_MODEL,
        }
    )


def _step(step: _Step, cited: list[str]) -> dict[str, object]:
    return {
        "action": step.action,
        "details": step.details,
        "evidence_basis": [cited.index(pointer) for pointer in step.basis],
        "risk_level": step.risk,
        "requires_approval": step.approval,
    }
