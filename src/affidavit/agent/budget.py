"""What a run may still spend: seconds and tokens, over all attempts of the incident."""

import time
from typing import TypedDict

SUBMIT_BEFORE_SECONDS = 90.0
"""Less than this to the deadline, and the chat model is asked for its answer instead of another step."""

END_BEFORE_SECONDS = 20.0
"""A reply is not waited for past this point: what is left is for verifying and storing."""


class Timed(TypedDict):
    deadline: float


def check_deadline(state: Timed, now: float | None = None) -> bool:
    """Whether time is too short for another step. `deadline` and `now` are seconds since the epoch; 90 left is fine."""
    return seconds_left(state, now) < SUBMIT_BEFORE_SECONDS


def seconds_left(state: Timed, now: float | None = None) -> float:
    return state["deadline"] - (time.time() if now is None else now)
