"""Turns HTTP failures of any chat client into our errors.

Clients derive their errors from nothing in common, but all carry the status where there was an answer.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, cast

from affidavit.agent.errors import ChatModelFailed
from affidavit.errors import AffidavitError

MOST_CHARACTERS = 500
NO_CONNECTION = "ConnectionError"
NO_TLS = "SSLError"
UNUSABLE = "UnusableReply"
_LINE = ("Timeout", "Connect", "RemoteProtocol", "ReadError", "WriteError", "NetworkError")
_READING = (ValueError, KeyError, TypeError, IndexError, AttributeError)


def http_failure(provider: str) -> Callable[[Exception], ChatModelFailed]:
    def failure(error: Exception) -> ChatModelFailed:
        return failure_of(provider, error)

    return failure


def failure_of(provider: str, error: Exception) -> ChatModelFailed:
    if isinstance(error, ChatModelFailed):
        return error
    status = next((found for one in _chain(error) if (found := _status(one)) is not None), None)
    code = type(error).__name__ if status is not None else _code_without_answer(error)
    return ChatModelFailed(
        f"{provider}: {_words(error)}", code=code, status=status, provider=provider, wait=_pause(error)
    )


def _code_without_answer(error: Exception) -> str:
    if any("CERTIFICATE_VERIFY" in str(one) or "SSL" in type(one).__name__ for one in _chain(error)):
        return NO_TLS
    if any(_is_about_the_line(one) for one in _chain(error)):
        return NO_CONNECTION
    return UNUSABLE if isinstance(error, _READING) else type(error).__name__


def _is_about_the_line(error: BaseException) -> bool:
    names = [kind.__name__ for kind in type(error).__mro__]
    return isinstance(error, OSError) or any(word in name for name in names for word in _LINE)


def _status(error: BaseException) -> int | None:
    response: object = getattr(error, "response", None)
    for place in (error, response):
        for name in ("status_code", "code"):
            found: object = getattr(place, name, None)
            if isinstance(found, int) and 300 <= found < 600:
                return found
    return None


def _pause(error: BaseException) -> float | None:
    """Seconds that the provider asks to be left alone."""
    for one in _chain(error):
        headers: object = getattr(getattr(one, "response", None), "headers", None)
        said = cast("Any", headers).get("retry-after") if hasattr(headers, "get") else None
        if isinstance(said, str) and said.replace(".", "", 1).isdigit():
            return float(said)
    return None


def _words(error: BaseException) -> str:
    """What a person can use of it: the service's own sentence where there is one."""
    if isinstance(error, AffidavitError):
        return str(error)
    said = " ".join(str(error).split()) or type(error).__name__
    return _sentence(error) or said[:MOST_CHARACTERS]


def _sentence(error: BaseException) -> str:
    body: object = getattr(error, "body", None)
    try:
        shape: object = json.loads(body) if isinstance(body, str | bytes) else body
    except ValueError:
        return ""
    if not isinstance(shape, dict):
        return ""
    told = cast("dict[str, Any]", shape)
    inner = told.get("error", told)
    message = cast("dict[str, Any]", inner).get("message") if isinstance(inner, dict) else inner
    status = getattr(error, "status_code", "")
    return f"{status} {message}"[:MOST_CHARACTERS] if isinstance(message, str) and message else ""


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what it was raised from or while handling."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or one.__context__
