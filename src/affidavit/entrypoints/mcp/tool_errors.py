"""The one table from our errors to what a tool error says. No stack trace, no foreign text leaves."""

import logging
import uuid
from collections.abc import Sequence
from typing import Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from affidavit.entrypoints.mcp.tools.tool import Tool
from affidavit.errors import AffidavitError, Conflict, InputRefused, InvariantBroken, NotFound, Throttled
from affidavit.ports.json import JsonValue

_LOG = logging.getLogger(__name__)
_BAD_INPUT = 400
_UPSTREAM = 424
_STATUS: tuple[tuple[type[AffidavitError], int], ...] = (
    (InputRefused, _BAD_INPUT),
    (NotFound, 404),
    (Conflict, 409),
    (Throttled, 429),
)
# A pattern or a type is enough to name what is wrong; a value of the caller's may be long or secret.
_SHOWN_TROUBLES = 5
_SHOWN_NAME = 80
_UNKNOWN: Final = "extra_forbidden"
_PLAINER: Final = {
    _UNKNOWN: "there is no such argument",
    "missing": "it is required",
    "model_type": "it should be an object",
    "model_attributes_type": "it should be an object",
}


def failure(error: Exception, tool: str) -> dict[str, JsonValue]:
    if isinstance(error, AffidavitError) and not isinstance(error, InvariantBroken):
        return shape(_status_of(error), str(error), error.hint)
    return _unexpected(error, tool)


def shape(status: int, error: str, hint: str) -> dict[str, JsonValue]:
    return {"success": False, "statusCode": status, "error": error, "hint": hint}


def _status_of(error: AffidavitError) -> int:
    return next((status for kind, status in _STATUS if isinstance(error, kind)), _UPSTREAM)


def bad_arguments(error: ValidationError, tool: Tool) -> InputRefused:
    """Of the arguments alone: a record of ours that does not validate later on is no fault of the caller's."""
    troubles = error.errors(include_url=False, include_context=False, include_input=False)
    known = [field.serialization_alias or name for name, field in tool.request.model_fields.items()]
    said = [_said(trouble, known, _stands_for(troubles)) for trouble in troubles]
    more = f"; and {len(said) - _SHOWN_TROUBLES} more" if len(said) > _SHOWN_TROUBLES else ""
    names = ", ".join(known)
    return InputRefused(
        f"{tool.name} cannot use these arguments: {'; '.join(said[:_SHOWN_TROUBLES])}{more}",
        hint=f"correct the named fields; {tool.name} takes {names}, and its input schema says what each may be",
    )


def _said(trouble: ErrorDetails, known: Sequence[str], missing: str) -> str:
    name = ".".join(map(str, trouble["loc"]))[:_SHOWN_NAME] or "arguments"
    right = ""
    if trouble["type"] == _UNKNOWN:
        meant = next((each for each in known if _letters(each) == _letters(name)), "")
        right = f"; it is called {meant}" if meant else f"; perhaps {missing} is meant" if missing else ""
    return f"{name}: {_PLAINER.get(trouble['type'], trouble['msg'].removeprefix('Value error, '))}{right}"


def _stands_for(troubles: Sequence[ErrorDetails]) -> str:
    """The one argument that is missing, when there is one too many: it may only have the wrong name."""
    unknown = [trouble for trouble in troubles if trouble["type"] == _UNKNOWN]
    missing = [
        str(trouble["loc"][0]) for trouble in troubles if trouble["type"] == "missing" and len(trouble["loc"]) == 1
    ]
    return missing[0] if len(unknown) == len(missing) == 1 and len(unknown[0]["loc"]) == 1 else ""


def _letters(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()


def _unexpected(error: Exception, tool: str) -> dict[str, JsonValue]:
    """Our bug. Whoever runs the server finds it under the id; the caller learns that nothing is known."""
    log_id = uuid.uuid4().hex[:12]
    _LOG.error("%s failed unexpectedly, log id %s", tool, log_id, exc_info=error)
    return shape(
        _UPSTREAM,
        f"{tool} failed for a reason of its own (log id {log_id}); nothing is known, good or bad",
        "try once more; if it fails again, report the log id to whoever runs this server",
    )
