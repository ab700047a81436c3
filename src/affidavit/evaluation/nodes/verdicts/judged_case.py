"""Judges whether a verdict named exactly the true causes of an incident."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class JudgedVerdict:
    """`trouble` is empty when the verdict is right."""

    id: str
    leads: bool
    trouble: str
