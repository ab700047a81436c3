"""Decides in code what a chat model may not decide: whether a step may be advised at all, its risk and its approval."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from affidavit.evidence.diagnosis import Diagnosis, EvidencePointer, RemediationStep, RiskLevel
from affidavit.verification.text.prompt_injection import gives_orders, refuses_orders
from affidavit.verification.text.word_patterns import first_match, word_patterns
from affidavit.yaml_loading import load_yaml

_NEVER = Path(__file__).parent / "never.yaml"
_ACTIONS = Path(__file__).parent / "actions.yaml"
_ORDER = list(RiskLevel)


@dataclass(frozen=True, kw_only=True)
class StepKind:
    """`is_advice`: it fits no kind of step we know."""

    kind_id: str
    risk: RiskLevel
    needs_approval: bool

    @property
    def is_advice(self) -> bool:
        return self.kind_id == ADVICE.kind_id


ADVICE = StepKind(kind_id="advice", risk=RiskLevel.MEDIUM, needs_approval=True)


def refused_steps(diagnosis: Diagnosis) -> Iterator[str]:
    """Problems of steps that are never advised, or that rest on text which gives orders."""
    for number, step in enumerate(diagnosis.remediation_plan):
        for problem in (*_never(step), *_ordered(step, diagnosis.evidence)):
            yield f"remediation_plan[{number}]: {problem}"


def gated(diagnosis: Diagnosis) -> Diagnosis:
    """The diagnosis with risk and approval of every step computed: never lower than what was claimed."""
    return diagnosis.model_copy(update={"remediation_plan": tuple(map(_gated, diagnosis.remediation_plan))})


def kind_of(step: RemediationStep) -> StepKind:
    text = f"{step.action}\n{step.details}"
    kinds = dict(_kinds())
    return next((kinds[pattern.pattern_id] for pattern, _ in first_match(text, _patterns())), ADVICE)


def _gated(step: RemediationStep) -> RemediationStep:
    kind = kind_of(step)
    risk = max(kind.risk, step.risk_level, key=_ORDER.index)
    approval = kind.needs_approval or step.requires_approval or risk is not RiskLevel.LOW
    return step.model_copy(update={"risk_level": risk, "requires_approval": approval, "is_advice": kind.is_advice})


def _never(step: RemediationStep) -> Iterator[str]:
    for pattern, words in first_match(f"{step.action}\n{step.details}", word_patterns(_NEVER, "never")):
        yield f"this is never advised, {pattern.why} ({words.strip()[:80]!r}): leave the step out"


def _ordered(step: RemediationStep, evidence: Sequence[EvidencePointer]) -> Iterator[str]:
    cited = [evidence[index] for index in step.evidence_basis if 0 <= index < len(evidence)]
    orders = [one for one in cited if isinstance(one.value, str) and gives_orders(one.value)]
    if orders and not refuses_orders(f"{step.action}\n{step.details}"):
        yield "it rests on text that gives orders to its reader: such text is no reason to do anything"


def _patterns() -> tuple[Any, ...]:
    return word_patterns(_ACTIONS, "actions")


@cache
def _kinds() -> tuple[tuple[str, StepKind], ...]:
    entries: Sequence[Mapping[str, Any]] = load_yaml(_ACTIONS.read_text())["actions"]
    return tuple(
        (
            entry["id"],
            StepKind(kind_id=entry["id"], risk=RiskLevel(entry["risk"]), needs_approval=bool(entry["approval"])),
        )
        for entry in entries
    )
