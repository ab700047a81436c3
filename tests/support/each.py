"""One test for many values of one kind: scenarios, rules, samples.

As tests of their own, thousands of them cost more to collect, hand out and report than to run. A failure names every
value that failed, with its traceback.
"""

import inspect
import traceback
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def for_each(
    names: str | tuple[str, ...], values: Iterable[Any], *, label: Callable[[Any], str] = repr
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives the test each value as argument `names`, or the parts of each as several arguments; the rest are fixtures.

    The values share the fixtures: in a folder, use names that differ.
    """
    names = (names,) if isinstance(names, str) else names
    kept = [*values]
    assert kept, "a test for each of none proves nothing"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def test_all(**fixtures: Any) -> None:
            failed = [told for value in kept if (told := _failure(test, names, value, fixtures, label)) is not None]
            if failed:
                pytest.fail(f"{len(failed)} of {len(kept)} failed\n\n" + "\n".join(failed), pytrace=False)

        signature = inspect.signature(test)
        fixtures = [each for name, each in signature.parameters.items() if name not in names]
        test_all.__signature__ = signature.replace(parameters=fixtures)
        test_all.__name__, test_all.__doc__, test_all.__module__ = test.__name__, test.__doc__, test.__module__
        return test_all

    return decorate


def _failure(
    test: Callable[..., None], names: tuple[str, ...], value: Any, fixtures: dict[str, Any], label: Callable[[Any], str]
) -> str | None:
    given = {names[0]: value} if len(names) == 1 else dict(zip(names, value, strict=True))
    try:
        test(**given, **fixtures)
    except Exception:  # noqa: BLE001 - whatever it is, the other values are tried and all are told
        return f"--- {label(value)}\n{traceback.format_exc()}"
    return None
