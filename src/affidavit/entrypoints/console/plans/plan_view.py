"""A plan for the eye, made from the sealed bytes alone: exact calls, diffs, the undo."""

import json
from dataclasses import dataclass
from enum import StrEnum

from affidavit.ports.json import Item
from affidavit.remediation.actions.action_type import Aim
from affidavit.remediation.actions.catalog import action_type
from affidavit.remediation.plan.plan_record import Action, Plan
from affidavit.remediation.plan.rendering import AS_READ, unified


class DiffKind(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    SAME = "same"
    PLACE = "place"


@dataclass(frozen=True, kw_only=True, slots=True)
class DiffLine:
    kind: DiffKind
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownCall:
    name: str
    resource: str
    parameters: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownAction:
    """`undo` is empty where there is none."""

    number: int
    action: Action
    calls: tuple[ShownCall, ...]
    diff: tuple[DiffLine, ...]
    undo: tuple[ShownCall, ...]


def shown_actions(plan: Plan) -> list[ShownAction]:
    return [_shown(number, action) for number, action in enumerate(plan.actions, start=1)]


def _shown(number: int, action: Action) -> ShownAction:
    differs = unified(action.precondition.state, action.expected).splitlines()[2:]
    return ShownAction(
        number=number,
        action=action,
        calls=_calls(action, action.arguments),
        diff=tuple(DiffLine(kind=_kind(line), text=line) for line in differs),
        undo=_calls(action, action.undo) if action.undo is not None else (),
    )


def _calls(action: Action, arguments: Item) -> tuple[ShownCall, ...]:
    kind = action_type(action.type)
    made = kind.calls(Aim(target=action.target, arguments=arguments), AS_READ if kind.has_token else None)
    return tuple(
        ShownCall(
            name=call.action,
            resource=call.resource,
            parameters=json.dumps(call.parameters, sort_keys=True, indent=2, ensure_ascii=False),
        )
        for call in made
    )


def _kind(line: str) -> DiffKind:
    if line.startswith("@@"):
        return DiffKind.PLACE
    return {"+": DiffKind.ADDED, "-": DiffKind.REMOVED}.get(line[:1], DiffKind.SAME)
