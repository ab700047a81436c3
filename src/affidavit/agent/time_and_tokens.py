"""Counts what a run has left: seconds until its deadline, and the tokens that replies cost."""

import time
from typing import TypedDict

from langchain_core.messages import AIMessage

from affidavit.agent.limits import Patience
from affidavit.evidence.diagnosis import TokenUsage

CHARACTERS_PER_TOKEN = 4


class Timed(TypedDict):
    """`deadline` is in seconds since the epoch."""

    deadline: float


def check_deadline(state: Timed, now: float | None = None, *, patience: Patience | None = None) -> bool:
    """Whether time is too short for another step: less than 90 s are left. Exactly 90 is fine."""
    return seconds_left(state, now) < (patience or Patience()).submit_before


def seconds_left(state: Timed, now: float | None = None) -> float:
    return state["deadline"] - (time.time() if now is None else now)


def usage_of(reply: AIMessage, prompt_characters: int) -> TokenUsage:
    """What one call cost. A provider that does not say is counted by length: unknown is not free."""
    said = reply.usage_metadata
    if said is not None:
        return TokenUsage(
            prompt_tokens=said["input_tokens"],
            completion_tokens=said["output_tokens"],
            total_tokens=said["total_tokens"],
        )
    prompt = prompt_characters // CHARACTERS_PER_TOKEN
    completion = (len(str(reply.content)) + len(str(reply.tool_calls))) // CHARACTERS_PER_TOKEN
    return TokenUsage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=prompt + completion)
