"""`make guards` takes minutes and runs before a release; that each guard and its test are there is quick to see."""

import re
from pathlib import Path

import pytest
from tests.guards import CONSOLE_GUARDS, GUARDS, Guard

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("guard", (*GUARDS, *CONSOLE_GUARDS), ids=lambda guard: guard.name)
def test_a_guard_and_its_test_are_where_the_table_says(guard: Guard) -> None:
    assert guard.text in (ROOT / guard.file).read_text()
    file, _, test = guard.test.partition("::")
    name = re.sub(r"\[.*", "", test)
    assert not name or f"def {name}(" in (ROOT / file).read_text()
