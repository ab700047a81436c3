"""Renders a plan for people, from the sealed bytes and nothing else."""

import difflib
import json
from collections.abc import Iterator

from affidavit.ports.json import JsonValue
from affidavit.remediation.actions.action_type import Aim
from affidavit.remediation.actions.catalog import action_type
from affidavit.remediation.plan.plan_record import Action, Plan
from affidavit.remediation.plan.seal import Seal, plan_from_bytes, typed_part

AS_READ = "(as read right before the call)"


def rendered(data: bytes, seal: Seal) -> str:
    """Raises InvariantBroken when the bytes are not those that were sealed."""
    plan = plan_from_bytes(data, seal)
    return "\n".join(_one_line(line) for line in (*_head(plan), *_actions(plan), *_tail(plan, seal)))


def summary(plan: Plan) -> Iterator[str]:
    """A few lines: what would be changed, from which source. What is approved is `rendered`."""
    yield f"Plan {plan.plan_id} for incident {plan.incident_id}: risk {plan.risk}, {plan.needed_approvals} approval(s)"
    for number, action in enumerate(plan.actions, start=1):
        yield f"  {number}. {action.type} on {action.target}, as {action.source.kind} {action.source.sha256[:12]} says"
    yield from (_one_line(f"  Stays advice: {one.step} ({one.why})") for one in plan.advice)


def undo_lines(plan: Plan) -> Iterator[str]:
    """What an undo would call, in its order."""
    for action in reversed(plan.actions):
        yield f"{action.type} on {action.target}"
        yield from _undo(action)


def unified(before: JsonValue, after: JsonValue) -> str:
    """A unified diff of two JSON values."""
    lines = (_pretty(before).split("\n"), _pretty(after).split("\n"))
    return "\n".join(_one_line(line) for line in difflib.unified_diff(*lines, "before", "after", lineterm="", n=2))


def _head(plan: Plan) -> Iterator[str]:
    yield f"Plan {plan.plan_id} for incident {plan.incident_id}, proposed by {plan.created_by}"
    yield f"  account {plan.account}, region {plan.region}, risk {plan.risk}, policy {plan.policy_version}"
    yield f"  may be approved and started until {plan.expires_at:%Y-%m-%d %H:%M:%S} UTC"
    yield f"  needs {plan.needed_approvals} approval(s), none of them by who proposed it"


def _actions(plan: Plan) -> Iterator[str]:
    for number, action in enumerate(plan.actions, start=1):
        yield ""
        yield f"{number}. {action.type} on {action.target} (risk {action.risk}, undo {action.undo_class})"
        source = action.source
        yield f"  values from {source.kind} {source.reference} ({source.sha256[:12]})"
        yield f"  because of evidence {', '.join(map(str, action.evidence_basis))} of the diagnosis"
        yield from (f"  call {line}" for line in _calls(action, Aim(target=action.target, arguments=action.arguments)))
        yield from (f"    {line}" for line in unified(action.precondition.state, action.expected).splitlines())
        yield from _undo(action)


def _undo(action: Action) -> Iterator[str]:
    if action.undo is None:
        yield "  undo: there is none"
        return
    lines = [f"  undo {line}" for line in _calls(action, Aim(target=action.target, arguments=action.undo))]
    yield from lines or ["  undo: nothing is sent; what it did stays"]


def _calls(action: Action, aim: Aim) -> Iterator[str]:
    kind = action_type(action.type)
    for call in kind.calls(aim, AS_READ if kind.has_token else None):
        yield f"{call.action} on {call.resource}: {json.dumps(call.parameters, sort_keys=True)}"


def _tail(plan: Plan, seal: Seal) -> Iterator[str]:
    yield ""
    yield f"Touches: {', '.join(plan.blast_radius)}"
    after = "it is undone" if plan.on_failed_proof == "undo" else "it is handed to a person"
    yield (
        f"Proven by {plan.symptom.good_runs} good run(s) of {plan.symptom.subject} and none that fails, within "
        f"{plan.symptom.window_seconds} s; else {after}"
    )
    for advice in plan.advice:
        yield f"Stays advice: {advice.step} ({advice.why})"
    yield f"Seal {seal}"
    yield f"To approve, type its last characters: {typed_part(seal)}"


def _one_line(line: str) -> str:
    """No value of a plan, and no word of who made the diagnosis, can pose as a line of what is approved."""
    return "\\n".join(line.splitlines())


def _pretty(value: JsonValue) -> str:
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
