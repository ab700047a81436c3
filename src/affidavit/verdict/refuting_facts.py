"""Loads the facts: measured values that are no fault and can refute one. Each is a check with samples, in `facts`."""

from functools import cache
from importlib.resources import files

from affidavit.checks.check import Check
from affidavit.checks.pack import checked_folder

PREFIX = "fact."


@cache
def load_facts() -> tuple[Check, ...]:
    """Raises InputRefused when a sample misbehaves."""
    return checked_folder(files("affidavit.verdict").joinpath("facts"))


def fact_id(check: Check) -> str:
    return check.id.removeprefix(PREFIX)
