"""How large storms are. The whole size repeats what a smaller one does: `make storms` runs it, before a release.

AFFIDAVIT_STORMS=full is the only switch; nothing else reads it.
"""

import os
from collections.abc import Sequence
from typing import TypeVar

import pytest
from _pytest.mark import ParameterSet

Each = TypeVar("Each")
IS_FULL = os.environ.get("AFFIDAVIT_STORMS") == "full"


def storm(usual: int, *, full: int) -> int:
    """How many there are of something."""
    return full if IS_FULL else usual


def some(each: Sequence[Each], usual: int) -> list[Each]:
    """So many of them, evenly spread, the first and the last among them; in full all of them."""
    if IS_FULL or len(each) <= usual:
        return [*each]
    return [each[number * (len(each) - 1) // (usual - 1)] for number in range(usual)]


def only_full(*values: object) -> list[ParameterSet]:
    """Parameters of a test whose usual size is among the quick ones."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values if IS_FULL]
