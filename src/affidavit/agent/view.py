"""What of a long answer the chat model is shown. The ledger keeps all of it, so a pointer into the rest still holds."""

import json
from collections.abc import Mapping
from typing import cast

from affidavit.agent.prompt import fenced
from affidavit.ports import JsonValue

CHARACTERS_AT_MOST = 40_000


def shown(tool: str, answer: Mapping[str, JsonValue], at_most: int = CHARACTERS_AT_MOST) -> str:
    view, left_out = _fitted(answer, at_most)
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


def _fitted(answer: Mapping[str, JsonValue], at_most: int) -> tuple[Mapping[str, JsonValue], list[str]]:
    """Oldest log events go first, then the longest fields. Events are newest first, so positions stay right."""
    view, left_out = dict(answer), list[str]()
    events = view.get("events")
    if isinstance(events, list) and len(_text(view)) > at_most:
        kept = _newest(events, at_most - len(_text({**view, "events": []})))
        view["events"] = kept
        left_out.append(f"the {len(events) - len(kept)} oldest events")
    while len(_text(view)) > at_most:
        longest = max(view, key=lambda name: len(_text(view[name])))
        left_out.append(f"{longest} ({len(_text(view[longest]))} characters)")
        view[longest] = {"left_out": True}
        if all(len(_text(value)) < 100 for value in view.values()):
            break
    return view, left_out


def _newest(events: list[JsonValue], room: int) -> list[JsonValue]:
    kept: list[JsonValue] = []
    for event in events:
        room -= len(_text(event)) + 2
        if room < 0:
            break
        kept.append(event)
    return kept


def _text(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
