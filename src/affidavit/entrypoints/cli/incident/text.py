"""Prints an incident: the cause first, then why to believe it, what to do, and what is not known."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console

from affidavit.entrypoints.report.screen import text
from affidavit.evidence.diagnosis import Diagnosis, EvidencePointer
from affidavit.incidents.store.context import IncidentContext
from affidavit.incidents.store.state import IncidentState

QUOTE_CHARACTERS = 300


def print_incident(state: IncidentState, context: IncidentContext | None, console: Console) -> None:
    diagnosis = context.diagnosis if context is not None else None
    if diagnosis is not None:
        _print_diagnosis(diagnosis, console)
    else:
        _print_no_diagnosis(state, console)
        if context is not None and context.best_so_far is not None:
            _print_heading("What rules alone can prove meanwhile:", console)
            _print_diagnosis(context.best_so_far, console)
        if context is not None:
            _print_gaps(context.gaps, console, title="Why there is no more")
            _print_gathered(state, context, console)
    _print_footer(state, context, console)


def _print_heading(title: str, console: Console) -> None:
    console.print()
    console.print(text(title, "bold"))


def _print_no_diagnosis(state: IncidentState, console: Console) -> None:
    style = "bold yellow" if state.status.is_open else "bold red"
    console.print(text(f"{state.status}: no diagnosis", style))
    if state.error_reason:
        console.print(text(f"  {state.error_reason}"))
    console.print(text(f"  {_next_step(state)}", "dim"))


def _next_step(state: IncidentState) -> str:
    incident_id = state.incident.incident_id
    if state.status.is_open:
        return f"it is being worked on; `affidavit incident watch {incident_id}` follows it"
    if state.next_attempt_at is not None:
        return "it will be run again by itself when its time comes"
    return f"nothing will happen by itself; `affidavit incident redrive {incident_id}` runs it again"


def _print_diagnosis(diagnosis: Diagnosis, console: Console) -> None:
    console.print(text(diagnosis.root_cause, "bold"))
    kinds = ", ".join(diagnosis.fault_types) or "no fault"
    level = diagnosis.confidence
    grade = f" · {diagnosis.grade}" if diagnosis.grade is not None else ""
    console.print(text(f"{diagnosis.severity} · {kinds}{grade} · confidence {level.level} ({level.basis})"))
    for one in diagnosis.open_obligations:
        console.print(text(f"  open: {one}", "yellow"))
    if diagnosis.affected_resources:
        console.print(text(f"affects {', '.join(diagnosis.affected_resources)}"))
    _print_heading("Evidence (each re-read from what the tool answered)", console)
    for index, pointer in enumerate(diagnosis.evidence):
        _print_pointer(index, pointer, console)
    _print_plan(diagnosis, console)
    gaps = diagnosis.confidence.gaps or diagnosis.gaps
    _print_gaps([gap for gap in gaps if gap not in diagnosis.open_obligations], console)


def _print_pointer(index: int, pointer: EvidencePointer, console: Console) -> None:
    console.print(text(f"  [{index}] {pointer.interpretation}"))
    value = pointer.value if isinstance(pointer.value, str) else json.dumps(pointer.value)
    cut = len(value) - QUOTE_CHARACTERS
    quote = value if cut <= 0 else f"{value[:QUOTE_CHARACTERS]}… ({cut} more characters; --json has them)"
    console.print(text(f"      “{quote}”", "cyan"))
    console.print(text(f"      {pointer.tool} {pointer.field}", "dim"))


def _print_plan(diagnosis: Diagnosis, console: Console) -> None:
    if diagnosis.remediation_plan:
        _print_heading("Plan", console)
    for number, step in enumerate(diagnosis.remediation_plan, start=1):
        basis = ", ".join(f"[{index}]" for index in step.evidence_basis)
        approval = (", needs approval" if step.requires_approval else "") + (", advice" if step.is_advice else "")
        console.print(text(f"  {number}. {step.action}  (because of {basis}; risk {step.risk_level}{approval})"))
        console.print(text(f"     {step.details}"))


def _print_gaps(gaps: Sequence[str], console: Console, *, title: str = "Not known") -> None:
    if gaps:
        _print_heading(title, console)
    for gap in gaps:
        console.print(text(f"  - {gap}"))


def _print_gathered(state: IncidentState, context: IncidentContext, console: Console) -> None:
    if context.evidence is not None:
        command = f"affidavit incident show {state.incident.incident_id} --json"
        console.print()
        console.print(text(f"what the tools answered without a chat model: `{command}`, under `evidence`"))


def _print_footer(state: IncidentState, context: IncidentContext | None, console: Console) -> None:
    incident = state.incident
    about = incident.subject.id or "nothing named"
    console.print()
    console.print(
        text(f"{incident.incident_id} · {state.status} · {about} · {incident.occurred_at:%Y-%m-%d %H:%M} UTC")
    )
    if context is not None:
        console.print(text(f"{len(context.ledger)} tool answers recorded, {_usage(state, context)}", "dim"))
    if state.status.has_diagnosis:
        console.print(text(f"prove it again with: affidavit verify {incident.incident_id}", "dim"))


def _usage(state: IncidentState, context: IncidentContext) -> str:
    if context.llm_calls or state.error_category is not None:
        calls = "1 chat-model call" if context.llm_calls == 1 else f"{context.llm_calls} chat-model calls"
        return f"{calls}, {context.token_usage.total_tokens} tokens"
    return "concluded by rules, no chat model asked" if context.diagnosis is not None else "no chat model asked"


def print_list(
    shown: Sequence[tuple[IncidentState, IncidentContext | None]], console: Console, *, days: int, is_cut: bool
) -> None:
    if not shown:
        console.print(f"No incident in the last {days} days. That is what was handed over here, not proof of health.")
    for state, context in shown:
        at, incident = state.incident.occurred_at, state.incident
        style = "green" if state.status.has_diagnosis else "yellow" if state.status.is_open else "red"
        console.print(
            text(f"{at:%Y-%m-%d %H:%M}  "), text(f"{state.status:<15}", style), text(incident.incident_id), sep=""
        )
        diagnosis = context.diagnosis if context is not None else None
        console.print(
            text(f"    {diagnosis.root_cause if diagnosis else state.error_reason or incident.message}", "dim")
        )
    if is_cut:
        console.print(text("there are more; --limit shows them", "dim"))


def told_as_json(state: IncidentState, context: IncidentContext | None) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(json.dumps(asdict(state.incident), default=str))
    told.update(
        status=state.status.value,
        created_at=state.created_at.isoformat(),
        updated_at=state.updated_at.isoformat(),
        attempts=state.attempts,
        error_reason=state.error_reason,
        error_category=state.error_category,
        next_attempt_at=state.next_attempt_at,
        deferred=state.is_deferred,
    )
    if context is not None:
        told["diagnosis"] = _dumped(context.diagnosis)
        told["best_so_far"] = _dumped(context.best_so_far)
        told["evidence"] = context.evidence
        told["token_usage"] = context.token_usage.model_dump()
        told["ledger"] = list(context.ledger)
        told["chain_key"] = context.chain_key
        told["gaps"] = list(context.gaps)
    return told


def _dumped(diagnosis: Diagnosis | None) -> dict[str, Any] | None:
    return None if diagnosis is None else diagnosis.model_dump(mode="json")
