"""Turns the verdict on a node's bundle into a diagnosis: its causes, each with lines that re-read byte for byte."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from affidavit.agent.subjects.control_plane_in_diagnosis import with_control_plane
from affidavit.agent.subjects.node_tools import ERRORS, TRIAGE
from affidavit.evidence.diagnosis import (
    Diagnosis,
    EvidencePointer,
    FaultType,
    IncidentSeverity,
    ProducedBy,
    RemediationStep,
    RiskLevel,
)
from affidavit.evidence.node_verdict import VerdictState
from affidavit.verification.confidence import UNSTATED, with_confidence
from affidavit.verification.ledger_entry import Entry
from affidavit.verification.plans.advisable_steps import refused_steps
from affidavit.verification.pointer_check import verify_pointer

_SEVERITIES = {one.value: one for one in IncidentSeverity}
_ORDER = list(IncidentSeverity)
# Lines cited for one cause: of the finding that is the cause, of its witnesses, and of what follows from it.
_WITNESSES = 2
_EFFECTS = 2
_QUOTE_CHARACTERS = 300
# A quote is re-read from the bundle by whoever judges the diagnosis; here there is no bundle at hand.
_UNREAD = "could not be re-read: its bundle is not at hand"


def conclude(entries: Sequence[Entry], gaps: Sequence[str] = ()) -> Diagnosis | None:
    """None when there is no verdict to conclude from."""
    known = _facts(entries)
    if known is None:
        return None
    open_causes = [cause for cause in known.causes if cause.get("still_open")]
    diagnosis = _of_causes(known, open_causes) if open_causes else _of_rest(known)
    diagnosis = with_control_plane(diagnosis, entries) if diagnosis.evidence else diagnosis
    told = diagnosis.model_copy(update={"gaps": tuple(dict.fromkeys((*gaps, *diagnosis.gaps)))[:100]})
    return with_confidence(told, entries) if told.evidence else None


@dataclass(frozen=True, kw_only=True)
class _Facts:
    entries: Sequence[Entry]
    triage: Mapping[str, Any]
    findings: Mapping[str, tuple[str, str, Mapping[str, Any]]]
    """By id: the tool and the place of the finding in its answer, and the finding."""

    @property
    def verdict(self) -> Mapping[str, Any]:
        return self.triage["verdict"]

    @property
    def node(self) -> str:
        return str(self.triage["instanceId"])

    @property
    def causes(self) -> list[Mapping[str, Any]]:
        return list(self.verdict.get("root_causes") or ())

    @property
    def unexplained(self) -> list[Mapping[str, Any]]:
        return list(self.verdict.get("unexplained") or ())


def _facts(entries: Sequence[Entry]) -> _Facts | None:
    triage = _newest(entries, TRIAGE)
    if triage is None or not triage.get("verdict"):
        return None
    findings = dict(_findings("/top_findings", TRIAGE, triage.get("top_findings")))
    errors = _newest(entries, ERRORS)
    # Ids mean something only in the index that they were given with.
    if errors is not None and errors.get("index_id") == triage.get("index_id"):
        findings.update(_findings("/findings", ERRORS, errors.get("findings")))
    return _Facts(entries=entries, triage=triage, findings=findings)


def _newest(entries: Sequence[Entry], tool: str) -> Mapping[str, Any] | None:
    for entry in reversed(entries):
        if entry.tool == tool and isinstance(entry.answer, Mapping) and not entry.answer.get("error"):
            return cast("Mapping[str, Any]", entry.answer)
    return None


def _findings(place: str, tool: str, listed: Any) -> Iterator[tuple[str, tuple[str, str, Mapping[str, Any]]]]:
    # What is too long for a view is left out of it: then there is no list.
    findings = cast("Sequence[Mapping[str, Any]]", listed) if isinstance(listed, list) else ()
    for number, finding in enumerate(findings):
        if isinstance(finding.get("evidence"), Mapping):
            yield str(finding["finding_id"]), (tool, f"{place}/{number}", finding)


# --- causes ----------------------------------------------------------------------------------------------------------


def _of_causes(known: _Facts, causes: Sequence[Mapping[str, Any]]) -> Diagnosis:
    evidence: list[EvidencePointer] = []
    steps: list[RemediationStep] = []
    for cause in causes:
        first = len(evidence)
        evidence.extend(_proof(known, cause))
        steps.append(_step(cause, range(first, len(evidence))))
    told = "; ".join(_told(cause) for cause in causes)
    draft = Diagnosis(
        root_cause=f"Node {known.node}: {told}."[:4000],
        fault_types=tuple(dict.fromkeys(FaultType(cause["fault_type"]) for cause in causes)),
        affected_resources=(known.node,),
        severity=_severity(known, causes),
        evidence=tuple(evidence),
        remediation_plan=tuple(steps),
        gaps=tuple(_unexplained(known)),
        confidence=UNSTATED,
        produced_by=ProducedBy.RULES,
    )
    return _without_refused(draft)


def _told(cause: Mapping[str, Any]) -> str:
    on = f" ({cause['on']})" if cause.get("on") else ""
    since = f", since {str(cause['since'])[:16].replace('T', ' ')} UTC" if cause.get("since") else ""
    return f"{str(cause['cause']).rstrip('.')}{on}{since}"


def _proof(known: _Facts, cause: Mapping[str, Any]) -> Iterator[EvidencePointer]:
    """The verdict's own word first, then lines: of the cause, of its witnesses, of its effects."""
    number = known.causes.index(cause)
    yield _holding(known, TRIAGE, f"/verdict/root_causes/{number}/cause", str(cause["cause"]), "The verdict's cause.")
    witnesses = [line for one in cause["evidence"] if (line := _line(known, str(one), "shows the cause"))]
    effects = [line for one in cause["explains"] if (line := _line(known, str(one), "follows from it"))]
    yield from (*witnesses[: _WITNESSES + 1], *effects[:_EFFECTS])


def _line(known: _Facts, finding_id: str, role: str) -> EvidencePointer | None:
    """The line of a finding. One whose text is partly hidden has no digest, so nobody can re-read it."""
    found = known.findings.get(finding_id)
    if found is None or not found[2]["evidence"].get("sha256"):
        return None
    tool, place, finding = found
    value = str(finding["evidence"]["excerpt"])[:_QUOTE_CHARACTERS]
    says = f"{finding_id}, {finding['pattern']} ({finding['component']}, {finding['count']} times), {role}."
    return _holding(known, tool, f"{place}/evidence/excerpt", value, says)


def _holding(known: _Facts, tool: str, field: str, value: str, says: str) -> EvidencePointer:
    """With a plain sentence where the words of a rule, beside this value, could be read as a claim of their own."""
    rich = EvidencePointer(tool=tool, field=field, value=value, interpretation=says)
    problems = verify_pointer(0, rich, known.entries, None).problems
    if all(_UNREAD in problem for problem in problems):
        return rich
    return rich.model_copy(update={"interpretation": "What was read there."})


def _step(cause: Mapping[str, Any], basis: range) -> RemediationStep:
    return RemediationStep(
        action=str(cause["first_step"])[:1000] or "Look at the lines that are cited",
        details=f"Because of this cause: {str(cause['cause']).rstrip('.')}."[:4000],
        evidence_basis=tuple(basis),
        # At least: whoever judges the plan raises both for a step that changes something.
        risk_level=RiskLevel.LOW,
        requires_approval=False,
    )


def _without_refused(draft: Diagnosis) -> Diagnosis:
    """A first step that may never be advised, such as deleting something, is left to the person."""
    kept = tuple(
        step
        for step in draft.remediation_plan
        if not list(refused_steps(draft.model_copy(update={"remediation_plan": (step,)})))
    )
    return draft.model_copy(update={"remediation_plan": kept})


def _severity(known: _Facts, causes: Sequence[Mapping[str, Any]]) -> IncidentSeverity:
    ids = [str(one) for cause in causes for one in (*cause["evidence"], *cause["explains"])]
    seen = [str(known.findings[one][2]["severity"]) for one in ids if one in known.findings]
    return min(
        (_SEVERITIES.get(one, IncidentSeverity.LOW) for one in seen), key=_ORDER.index, default=IncidentSeverity.MEDIUM
    )


def _unexplained(known: _Facts) -> Iterator[str]:
    for entry in known.unexplained:
        ids = ", ".join(entry.get("finding_ids") or ())
        could = "; it could be " + ", ".join(entry["could_be"]) if entry.get("could_be") else ""
        look = "; not in the bundle: " + ", ".join(entry["absent"]) if entry.get("absent") else ""
        yield f"not explained: {entry['what']} ({ids}){could}{look}"[:1000]


# --- no open cause ---------------------------------------------------------------------------------------------------


def _of_rest(known: _Facts) -> Diagnosis:
    if known.unexplained:
        return _of_unknown(known)
    if known.causes:
        return _of_past(known)
    summary = str(known.verdict["summary"])
    pointers = [_holding(known, TRIAGE, "/verdict/summary", summary, "The verdict on the bundle.")]
    state = str(known.verdict["state"])
    scanned = known.triage["coverage_report"]
    cause = (
        f"No known fault is open in the bundle of node {known.node}: {scanned['files_scanned']} of "
        f"{scanned['total_files']} files were read, and the verdict is {state}. That is no proof of health."
    )
    return _plain(known, cause, (), pointers, IncidentSeverity.LOW)


def _of_unknown(known: _Facts) -> Diagnosis:
    pointers = [
        line
        for entry in known.unexplained
        for one in entry["finding_ids"][:_WITNESSES]
        if (line := _line(known, str(one), "is not explained"))
    ]
    summary = _holding(known, TRIAGE, "/verdict/summary", str(known.verdict["summary"]), "The verdict on the bundle.")
    what = "; ".join(str(entry["what"]).rstrip(".") for entry in known.unexplained)
    cause = f"Node {known.node} shows a fault whose cause is unknown: {what}."
    severity = IncidentSeverity.HIGH if known.verdict["state"] == VerdictState.OPEN else IncidentSeverity.MEDIUM
    return _plain(known, cause, (FaultType.UNKNOWN,), [summary, *pointers], severity, list(_unexplained(known)))


def _of_past(known: _Facts) -> Diagnosis:
    evidence = [pointer for cause in known.causes for pointer in _proof(known, cause)]
    told = "; ".join(_told(cause) for cause in known.causes)
    cause = f"No fault of node {known.node} was open when its bundle was made. What it shows was over by then: {told}."
    return _plain(known, cause, (), evidence, IncidentSeverity.LOW)


def _plain(
    known: _Facts,
    cause: str,
    kinds: tuple[FaultType, ...],
    evidence: Sequence[EvidencePointer],
    severity: IncidentSeverity,
    gaps: Sequence[str] = (),
) -> Diagnosis:
    return Diagnosis(
        root_cause=cause[:4000],
        fault_types=kinds,
        affected_resources=(known.node,) if kinds else (),
        severity=severity,
        evidence=tuple(evidence),
        remediation_plan=(),
        gaps=tuple(gaps),
        confidence=UNSTATED,
        produced_by=ProducedBy.RULES,
    )
