"""The one table from our errors to what a tool error says. No stack trace, no foreign text leaves."""

import logging
import uuid

from pydantic import ValidationError

from affidavit.errors import AffidavitError, Conflict, InputRefused, InvariantBroken, NotFound, Throttled
from affidavit.ports import JsonValue

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


def failure(error: Exception, tool: str) -> dict[str, JsonValue]:
    if isinstance(error, ValidationError):
        return _bad_arguments(error, tool)
    if isinstance(error, AffidavitError) and not isinstance(error, InvariantBroken):
        return shape(_status_of(error), str(error), error.hint)
    return _unexpected(error, tool)


def shape(status: int, error: str, hint: str) -> dict[str, JsonValue]:
    return {"success": False, "statusCode": status, "error": error, "hint": hint}


def _status_of(error: AffidavitError) -> int:
    return next((status for kind, status in _STATUS if isinstance(error, kind)), _UPSTREAM)


def _bad_arguments(error: ValidationError, tool: str) -> dict[str, JsonValue]:
    troubles = error.errors(include_url=False, include_context=False, include_input=False)
    said = [f"{'.'.join(map(str, trouble['loc'])) or 'arguments'}: {trouble['msg']}" for trouble in troubles]
    more = f"; and {len(said) - _SHOWN_TROUBLES} more" if len(said) > _SHOWN_TROUBLES else ""
    return shape(
        _BAD_INPUT,
        f"{tool} cannot use these arguments: {'; '.join(said[:_SHOWN_TROUBLES])}{more}",
        "correct the named fields; the tool's input schema says what each takes",
    )


def _unexpected(error: Exception, tool: str) -> dict[str, JsonValue]:
    """Our bug. Whoever runs the server finds it under the id; the caller learns that nothing is known."""
    log_id = uuid.uuid4().hex[:12]
    _LOG.error("%s failed unexpectedly, log id %s", tool, log_id, exc_info=error)
    return shape(
        _UPSTREAM,
        f"{tool} failed for a reason of its own (log id {log_id}); nothing is known, good or bad",
        "try once more; if it fails again, report the log id to whoever runs this server",
    )
