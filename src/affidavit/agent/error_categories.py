"""Sorts exceptions of a run into categories that say whether a retry can help. Pure: no clock, no network."""

import socket
from collections.abc import Iterator
from typing import Any, cast

from affidavit.agent.errors import (
    ChatKeyMissing,
    ChatModelFailed,
    ChatModelRefused,
    McpAuthFailed,
    McpConnectionFailed,
    McpInitError,
)
from affidavit.errors import AffidavitError
from affidavit.incidents.attempt.diagnostician_port import AgentError, ErrorCategory

_AUTH = frozenset(
    {
        "AccessDeniedException",
        "AccessDenied",
        "UnauthorizedException",
        "ExpiredTokenException",
        "ExpiredToken",
        "UnrecognizedClientException",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "IncompleteSignature",
        "MissingAuthenticationTokenException",
        "NoCredentialsError",
        "PartialCredentialsError",
        "CredentialRetrievalError",
        "TokenRetrievalError",
        "SSOTokenLoadError",
        "UnauthorizedSSOTokenError",
    }
)
_TRANSIENT = frozenset(
    {
        "ThrottlingException",
        "Throttling",
        "TooManyRequestsException",
        "ServiceUnavailableException",
        "ServiceUnavailable",
        "ModelTimeoutException",
        "ModelNotReadyException",
        "InternalServerException",
        "InternalFailure",
        "ModelErrorException",
        "ReadTimeoutError",
        "ConnectTimeoutError",
        "EndpointConnectionError",
        "ConnectionClosedError",
        "ConnectionError",
        "ResponseParserError",
        "ProxyConnectionError",
        "HTTPClientError",
        "ResponseStreamingError",
        "UnusableReply",
        "NoReplyInTime",
    }
)
_CONFIG = frozenset(
    {
        "ValidationException",
        "ResourceNotFoundException",
        "UnknownOperationException",
        "ServiceQuotaExceededException",
        # A certificate that does not verify stays so: the endpoint is wrong, or somebody sits between.
        "SSLError",
        "InvalidRegionError",
        "ParamValidationError",
        "NoRegionError",
        "UnknownModelError",
        "BedrockContextOverflowError",
    }
)


def classify_error(exception: BaseException) -> AgentError:
    """The category of the first telling exception among this one, the members of its groups and its causes."""
    for candidate in _unwrapped(exception):
        category = _category_of(candidate)
        if category is not ErrorCategory.UNKNOWN:
            provider = candidate.provider if isinstance(candidate, ChatModelFailed) else ""
            return AgentError(category=category, message=_message_of(candidate), provider=provider)
    return AgentError(category=ErrorCategory.UNKNOWN, message=_message_of(next(_unwrapped(exception))))


def _unwrapped(exception: BaseException) -> Iterator[BaseException]:
    """Leaves of groups, however deep, each followed by what it was raised from."""
    if isinstance(exception, BaseExceptionGroup):
        for member in cast("BaseExceptionGroup[BaseException]", exception).exceptions:
            yield from _unwrapped(member)
        return
    yield exception
    if exception.__cause__ is not None:
        yield from _unwrapped(exception.__cause__)


def _message_of(exception: BaseException) -> str:
    said = str(exception).strip() or type(exception).__name__
    # Whoever reads it at night has no other place to find the hint.
    hint = exception.hint if isinstance(exception, AffidavitError) else ""
    return f"{said}; {hint}" if hint else said


def _category_of(exception: BaseException) -> ErrorCategory:
    match exception:
        case McpAuthFailed():
            return ErrorCategory.MCP_AUTH
        case McpInitError():
            return ErrorCategory.MCP_INIT
        case McpConnectionFailed():
            return ErrorCategory.MCP_CONNECTION
        case ChatKeyMissing():
            return ErrorCategory.BEDROCK_AUTH
        case ChatModelRefused():
            return ErrorCategory.BEDROCK_CONFIG
        case ChatModelFailed(code=code, status=status):
            return _category_of_code(code, status)
        case _:
            return _category_of_foreign(exception)


def _category_of_foreign(exception: BaseException) -> ErrorCategory:
    """For exceptions no adapter translated: told by where their type comes from, without importing that library."""
    origin = type(exception).__module__.partition(".")[0]
    response: object = getattr(exception, "response", None)
    if origin in ("botocore", "langchain_aws"):
        return _category_of_botocore(exception, response)
    if origin in ("httpx", "httpx2", "httpcore", "httpcore2"):
        is_denied = getattr(response, "status_code", None) in (401, 403)
        return ErrorCategory.MCP_AUTH if is_denied else ErrorCategory.MCP_CONNECTION
    if origin == "mcp":
        return ErrorCategory.MCP_INIT
    if isinstance(exception, ConnectionError | TimeoutError | socket.gaierror):
        return ErrorCategory.MCP_CONNECTION
    return ErrorCategory.UNKNOWN


def botocore_code(exception: BaseException) -> str | None:
    """The service's own word in an error of botocore's; None when it is none."""
    response: object = getattr(exception, "response", None)
    if type(exception).__module__.partition(".")[0] != "botocore" or not isinstance(response, dict):
        return None
    return str(cast("dict[str, dict[str, Any]]", response).get("Error", {}).get("Code", ""))


def _category_of_botocore(exception: BaseException, response: object) -> ErrorCategory:
    if not isinstance(response, dict):
        return _category_of_code(type(exception).__name__, None)
    details = cast("dict[str, dict[str, Any]]", response)
    status = details.get("ResponseMetadata", {}).get("HTTPStatusCode")
    return _category_of_code(str(details.get("Error", {}).get("Code", "")), status)


def _category_of_code(code: str, status: int | None) -> ErrorCategory:
    if code in _AUTH:
        return ErrorCategory.BEDROCK_AUTH
    if code in _TRANSIENT:
        return ErrorCategory.BEDROCK_TRANSIENT
    if code in _CONFIG:
        return ErrorCategory.BEDROCK_CONFIG
    return _category_of_status(status)


def _category_of_status(status: int | None) -> ErrorCategory:
    """For answers without a code, as a proxy or gateway in between gives them."""
    if status is None:
        return ErrorCategory.UNKNOWN
    if status in (401, 403):
        return ErrorCategory.BEDROCK_AUTH
    if status in (408, 429) or status >= 500:
        return ErrorCategory.BEDROCK_TRANSIENT
    return ErrorCategory.BEDROCK_CONFIG
