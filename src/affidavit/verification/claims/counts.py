"""Holds words of quantity beside a count to the count: `hundreds`, `a handful`, another number."""

import re
from collections.abc import Iterator

from affidavit.evidence.diagnosis import Claim, EvidencePointer
from affidavit.verification.text.quantities import Dimension, quantities

# How much a word means, at least and at most.
_AMOUNTS: tuple[tuple[str, float, float], ...] = (
    (r"a handful|a few|a couple|several", 2, 20),
    (r"dozens", 20, 300),
    (r"hundreds", 100, 3_000),
    (r"thousands|\w+ thousand", 1_000, 1_000_000),
    (r"\w+ hundred", 90, 1_100),
    (r"millions?", 500_000, float("inf")),
)


def miscounted(pointer: EvidencePointer) -> Iterator[str]:
    value = pointer.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        if pointer.claim is Claim.COUNT and not isinstance(value, list):
            yield "it claims a count, but the value is no number: cite the number"
        return
    for words, least, most in _AMOUNTS if value else ():
        found = re.search(rf"(?i)\b(?:{words})\b", pointer.interpretation)
        if found is not None and not least <= value <= most:
            yield f"the value is {value}, not {found.group()!r}"
    if value and pointer.claim is Claim.COUNT:
        yield from _other_numbers(float(value), pointer.interpretation)


def _other_numbers(value: float, sentence: str) -> Iterator[str]:
    """A sentence about a count that gives numbers gives the count, too."""
    numbers = [one.number for one in quantities(sentence) if one.dimension is Dimension.COUNT]
    if numbers and value not in numbers and re.search(r"(?i)\b(about|around|roughly|only|some)\b", sentence):
        yield f"the value is {value:g}, and the sentence says another number"
