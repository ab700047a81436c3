"""Keep an answer within a number of bytes: as many items as fit, the most important first, the rest counted."""

from collections.abc import Callable
from typing import Annotated, Final, TypeVar

from pydantic import Field
from pydantic_core import to_json

from affidavit.wire.records import ToolAnswer

MAX_BYTES: Final = 24 << 10
LEAST_BYTES: Final = 2 << 10
MOST_BYTES: Final = 8 << 20
# What the server adds to every answer: success, redacted, gaps of redaction.
_ADDED: Final = 200

MaxBytes = Annotated[
    int,
    Field(
        ge=LEAST_BYTES,
        le=MOST_BYTES,
        validation_alias="max_bytes",
        serialization_alias="max_bytes",
    ),
]

Answer = TypeVar("Answer", bound=ToolAnswer)


def more_bytes(max_bytes: int) -> int:
    """What to ask for when an answer was too short."""
    return min(MOST_BYTES, 4 * max_bytes)


def size_of(answer: ToolAnswer) -> int:
    return len(to_json(answer, by_alias=True)) + _ADDED


def fit(build: Callable[[int], Answer], most: int, max_bytes: int, *, least: int = 0) -> Answer:
    """The answer with as many of `most` items as fit into `max_bytes`, and with `least` even if they do not.

    `build(n)` makes the whole answer with the first n items, truncation included; it grows with n.
    """
    low, answer = least, build(least)
    step = 1
    while low < most and step:
        tried = build(min(most, low + step))
        if size_of(tried) <= max_bytes:
            low, answer, step = min(most, low + step), tried, step * 2
        else:
            step //= 2
    return answer
