"""A problem that a check of the free text found."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class WordFinding:
    """`is_refused`: the answers say otherwise, or hold no such thing. Else it is only not shown."""

    says: str
    is_refused: bool
