"""Prints the demo: numbered steps, commands as typed, and an investigation turn by turn."""

import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

from affidavit.entrypoints.report.terminal_escapes_and_colours import harmless
from affidavit.ports.json import JsonValue

CHARACTERS = 110
# The marks that tell the chat model that an answer is data. People do not need them.
_FENCE = re.compile(r"</?\w+-[0-9a-f]{8}[^>]*>")


class Story:
    def __init__(self) -> None:
        self._number, self._started = 0, time.monotonic()

    def step(self, title: str) -> None:
        self._number += 1
        print(f"\n=== {self._number}. {title}  [{time.monotonic() - self._started:.0f} s]", flush=True)

    def say(self, text: str) -> None:
        print(f"    {harmless(text)}", flush=True)

    def command(self, line: str) -> None:
        print(f"$ affidavit {line}", flush=True)

    def tell_turns(self, saved: JsonValue, *, after: int) -> int:
        """Prints the turns of a saved conversation from `after` on; returns how many there are now."""
        shape = cast("Mapping[str, Any]", saved)
        turns: Sequence[Mapping[str, Any]] = shape["messages"]
        for turn in turns[after:]:
            for line in _told(turn):
                self.say(line)
        return len(turns)


def _told(turn: Mapping[str, Any]) -> list[str]:
    data: Mapping[str, Any] = turn["data"]
    match turn["type"]:
        case "ai":
            calls = [_call(call["name"], call["args"]) for call in data.get("tool_calls", ())]
            said = _text(data["content"])
            return [*([f"thinks    {_cut(said)}"] if said else []), *calls]
        case "tool":
            return [f"answered  {data.get('name') or 'tool'}: {_cut(_text(data['content']))}"]
        case _:
            return []


def _call(name: str, arguments: Mapping[str, Any]) -> str:
    if name == "submit_diagnosis":
        return f"submits   {_cut(str(arguments.get('root_cause', '')))}"
    return f"asks      {name}({_cut(json.dumps(arguments))})"


def _text(content: Any) -> str:
    """A chat model's turn is a text, or a list of parts of which some are texts."""
    return content if isinstance(content, str) else " ".join(str(part["text"]) for part in content if "text" in part)


def _cut(text: str) -> str:
    line = " ".join(_FENCE.sub(" ", text).split())
    return line if len(line) <= CHARACTERS else f"{line[:CHARACTERS]}… ({len(line)} characters)"
