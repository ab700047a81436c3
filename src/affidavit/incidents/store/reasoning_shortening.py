"""Shortens a reasoning chain to fit beside a diagnosis. A tool call is never parted from its result."""

from collections.abc import Mapping, Sequence

from affidavit.ports.json import JsonValue

Message = Mapping[str, JsonValue]
TURNS_KEPT = 3


def shortened(chain: Sequence[Message], *, turns: int = TURNS_KEPT) -> list[Message]:
    """The system prompt and the last turns. A turn is a message and the tool results that answer it."""
    system = [message for message in chain[:1] if message.get("role") == "system"]
    groups = _turns(chain[len(system) :])
    kept = groups[len(groups) - turns :] if turns else []
    return [*system, *(message for turn in (groups if turns >= len(groups) else kept) for message in turn)]


def _turns(chain: Sequence[Message]) -> list[list[Message]]:
    groups: list[list[Message]] = []
    for message in chain:
        if message.get("role") == "tool" and groups:
            groups[-1].append(message)
        else:
            groups.append([message])
    return groups
