"""Runs the computation that a check names, with its arguments."""

import inspect
from collections.abc import Iterator, Sequence
from functools import cache
from typing import get_type_hints

from pydantic import TypeAdapter, ValidationError

from affidavit.checks.check import Argument, Check
from affidavit.checks.computation_results import Found
from affidavit.checks.compute import COMPUTATIONS
from affidavit.checks.numbered_lines import Document
from affidavit.errors import InputRefused


def apply_check(check: Check, documents: Sequence[Document]) -> Iterator[Found]:
    return COMPUTATIONS[check.compute](documents, **check.arguments)


def refuse_unusable(check: Check) -> None:
    """Raises InputRefused when the check names no computation, or gives it other arguments than it takes."""
    if check.compute not in COMPUTATIONS:
        raise InputRefused(
            f"check {check.id}: there is no computation {check.compute!r}", hint=f"there are {', '.join(COMPUTATIONS)}"
        )
    parameters = _parameters(check.compute)
    missing = [name for name, (_, is_needed) in parameters.items() if is_needed and name not in check.arguments]
    unknown = [name for name in check.arguments if name not in parameters]
    if missing or unknown:
        problem = f"needs {', '.join(missing)}" if missing else f"does not take {', '.join(unknown)}"
        raise InputRefused(f"check {check.id}: {check.compute} {problem}")
    for name, value in check.arguments.items():
        _refuse_other_type(check, name, value, parameters[name][0])


def _refuse_other_type(check: Check, name: str, value: Argument, kind: TypeAdapter[object]) -> None:
    try:
        kind.validate_python(value)
    except ValidationError as error:
        raise InputRefused(f"check {check.id}: arguments.{name}: {error.errors()[0]['msg']}") from error


@cache
def _parameters(compute: str) -> dict[str, tuple[TypeAdapter[object], bool]]:
    """By name: the type, and whether it must be given."""
    function = COMPUTATIONS[compute]
    hints = get_type_hints(function)
    return {
        name: (TypeAdapter[object](hints[name]), parameter.default is inspect.Parameter.empty)
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
