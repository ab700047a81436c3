"""A test for each of many values fails with the name of every one that does."""

import pytest
from tests.support.each import for_each


def test_every_value_that_fails_is_named_and_no_other() -> None:
    @for_each("number", range(5), label=lambda number: f"number {number}")
    def test_small(number: int) -> None:
        assert number not in (1, 3), f"{number} is wrong"

    with pytest.raises(
        pytest.fail.Exception, match=r"(?s)2 of 5 failed.*--- number 1\n.*1 is wrong.*--- number 3\n"
    ) as told:
        test_small()
    assert "number 2" not in str(told.value)


@for_each(("one", "two"), [(1, 2), (2, 4)])
def test_parts_of_a_value_are_arguments_and_the_rest_are_fixtures(one: int, two: int, tmp_path) -> None:
    assert two == 2 * one and tmp_path.is_dir()


def test_none_at_all_is_refused() -> None:
    with pytest.raises(AssertionError, match="proves nothing"):
        for_each("value", [])
