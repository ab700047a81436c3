"""Chooses the part of a long answer that the chat model sees. The ledger keeps all, so pointers to the rest hold."""

import json
from collections.abc import Mapping
from typing import cast

from affidavit.agent.prompt_messages import fenced
from affidavit.agent.subjects.investigable import Investigable
from affidavit.agent.time_and_tokens import CHARACTERS_PER_TOKEN
from affidavit.incidents.attempt.answers_cut_to_budget import truncate_to_budget
from affidavit.ports.json import JsonValue

CHARACTERS_AT_MOST = 40_000


def shown(tool: str, answer: Mapping[str, JsonValue], of: Investigable, at_most: int = CHARACTERS_AT_MOST) -> str:
    view, left_out = _fitted(tool, answer, of, at_most)
    note = f"\nLeft out of this view for its length, but recorded: {'; '.join(left_out)}." if left_out else ""
    return fenced(tool, _text(view)) + note


def answer_shown(text: str) -> Mapping[str, JsonValue] | None:
    """The answer inside what `shown` made; None when it is something else, such as a refusal."""
    lines = text.split("\n")
    if len(lines) < 3 or not lines[0].startswith("<"):
        return None
    try:
        value = json.loads(lines[1])
    except ValueError:
        return None
    return cast("dict[str, JsonValue]", value) if isinstance(value, dict) else None


def _fitted(
    tool: str, answer: Mapping[str, JsonValue], of: Investigable, at_most: int
) -> tuple[Mapping[str, JsonValue], list[str]]:
    """Cut as facts for people are; what is still too long loses its longest fields, by name.

    Events are newest first, so positions stay right.
    """
    if len(_text(answer)) <= at_most:
        return answer, []
    part = next((part for part, one in of.parts.items() if one == tool), tool)
    fitted = truncate_to_budget({part: answer}, at_most // CHARACTERS_PER_TOKEN, of.shrinks)
    view = dict(cast("Mapping[str, JsonValue]", fitted.context[part]))
    left_out = list(fitted.details)
    while len(_text(view)) > at_most:
        longest = max(view, key=lambda name: len(_text(view[name])))
        left_out.append(f"{longest} ({len(_text(view[longest]))} characters)")
        view[longest] = {"left_out": True}
        if all(len(_text(value)) < 100 for value in view.values()):
            break
    return view, left_out


def _text(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
