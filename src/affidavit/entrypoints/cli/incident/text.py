"""Prints an incident: the cause first, then why to believe it, what to do, and what is not known."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console

from affidavit.entrypoints.report.terminal_escapes_and_colours import text
from affidavit.evidence.diagnosis import Diagnosis
from affidavit.incidents.reading.incident_view import ClaimView, ConclusionView, IncidentView, view_of
from affidavit.incidents.store.state import IncidentState
from affidavit.incidents.store.stored_diagnoses import IncidentContext

QUOTE_CHARACTERS = 300


def print_incident(state: IncidentState, context: IncidentContext | None, console: Console) -> None:
    view = view_of(state, context)
    if view.conclusion is not None:
        _print_conclusion(view.conclusion, console)
    else:
        _print_no_diagnosis(view, console)
        if view.rules_prove is not None:
            _print_heading("What rules alone can prove meanwhile:", console)
            _print_conclusion(view.rules_prove, console)
        _print_gaps(view.not_known, console, title="Why there is no more")
        if context is not None:
            _print_gathered(view, context, console)
    _print_footer(view, context, console)


def _print_heading(title: str, console: Console) -> None:
    console.print()
    console.print(text(title, "bold"))


def _print_no_diagnosis(view: IncidentView, console: Console) -> None:
    style = "bold yellow" if view.status.is_open else "bold red"
    console.print(text(f"{view.status}: no diagnosis", style))
    if view.reason:
        console.print(text(f"  {view.reason}"))
    console.print(text(f"  {_next_step(view)}", "dim"))


def _next_step(view: IncidentView) -> str:
    if view.status.is_open:
        return f"it is being worked on; `affidavit incident watch {view.incident_id}` follows it"
    if view.is_run_again:
        return "it will be run again by itself when its time comes"
    return f"nothing will happen by itself; `affidavit incident redrive {view.incident_id}` runs it again"


def _print_conclusion(shown: ConclusionView, console: Console) -> None:
    console.print(text(shown.cause, "bold"))
    grade = f" · {shown.grade}" if shown.grade else ""
    console.print(text(f"{shown.severity} · {shown.kinds}{grade} · confidence {shown.confidence} ({shown.basis})"))
    for one in shown.open_points:
        console.print(text(f"  open: {one}", "yellow"))
    if shown.affected:
        console.print(text(f"affects {', '.join(shown.affected)}"))
    _print_heading("Evidence (each re-read from what the tool answered)", console)
    for claim in shown.claims:
        _print_claim(claim, console)
    _print_plan(shown, console)
    _print_gaps(shown.not_known, console)


def _print_claim(claim: ClaimView, console: Console) -> None:
    console.print(text(f"  [{claim.index}] {claim.says}"))
    beginning, cut = claim.quoted(QUOTE_CHARACTERS)
    quote = f"{beginning}… ({cut} more characters; --json has them)" if cut else beginning
    console.print(text(f"      “{quote}”", "cyan"))
    console.print(text(f"      {claim.tool} {claim.field}", "dim"))


def _print_plan(shown: ConclusionView, console: Console) -> None:
    if shown.plan:
        _print_heading("Plan", console)
    for step in shown.plan:
        console.print(text(f"  {step.number}. {step.action}  ({step.why})"))
        console.print(text(f"     {step.details}"))


def _print_gaps(gaps: Sequence[str], console: Console, *, title: str = "Not known") -> None:
    if gaps:
        _print_heading(title, console)
    for gap in gaps:
        console.print(text(f"  - {gap}"))


def _print_gathered(view: IncidentView, context: IncidentContext, console: Console) -> None:
    if context.evidence is not None:
        command = f"affidavit incident show {view.incident_id} --json"
        console.print()
        console.print(text(f"what the tools answered without a chat model: `{command}`, under `evidence`"))


def _print_footer(view: IncidentView, context: IncidentContext | None, console: Console) -> None:
    about = view.subject or "nothing named"
    console.print()
    console.print(text(f"{view.incident_id} · {view.status} · {about} · {view.occurred_at:%Y-%m-%d %H:%M} UTC"))
    if view.resolved_at is not None:
        console.print(text(f"the alert is resolved since {view.resolved_at:%Y-%m-%d %H:%M} UTC", "green"))
    if context is not None:
        console.print(text(f"{view.answers} tool answers recorded, {_usage(view)}", "dim"))
    if view.status.has_diagnosis:
        console.print(text(f"prove it again with: affidavit verify {view.incident_id}", "dim"))


def _usage(view: IncidentView) -> str:
    if view.chat_calls or view.category:
        calls = "1 chat-model call" if view.chat_calls == 1 else f"{view.chat_calls} chat-model calls"
        return f"{calls}, {view.tokens.total_tokens} tokens"
    return "concluded by rules, no chat model asked" if view.conclusion is not None else "no chat model asked"


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
        provider=state.provider,
        next_attempt_at=state.next_attempt_at,
        deferred=state.is_deferred,
        resolved_at=state.resolved_at,
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
