"""Turns AWS's errors into ours: the one place where that happens."""

from collections.abc import Generator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, ParamValidationError

from affidavit.errors import AffidavitError, Conflict, InputRefused, NotFound, Throttled, UpstreamFailed

_THROTTLED = {
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "RequestThrottledException",
    "TooManyRequestsException",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RateExceeded",
    "SlowDown",
    "AutomationExecutionLimitExceededException",
}
_MISSING = {
    "404",
    "NoSuchKey",
    "NotFound",
    "ResourceNotFoundException",
    "AutomationExecutionNotFoundException",
    "InvalidInstanceID.NotFound",
    "InvalidInstanceID.Malformed",
    "ParameterNotFound",
}
_DENIED = {"403", "AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "Forbidden", "AuthorizationError"}
_REFUSED = {"InvalidAutomationExecutionParametersException", "InvalidParameterValue", "InvalidParameter"}


def code_of(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


@contextmanager
def translated(thing: str) -> Generator[None]:
    """Foreign errors leave as ours, about `thing`. AWS's own text stays behind: it quotes policies and account ids."""
    try:
        yield
    except ClientError as error:
        raise translate(error, thing) from error
    except NoCredentialsError as error:
        raise UpstreamFailed(
            f"{thing}: there are no AWS credentials", hint="log in, or give the function or container a role"
        ) from error
    except ParamValidationError as error:
        raise InputRefused(f"{thing}: AWS does not take such a name or value", hint="check what was given") from error
    except BotoCoreError as error:
        raise UpstreamFailed(
            f"{thing}: AWS could not be reached ({type(error).__name__})",
            hint="check the network, the region and the endpoint, then try again",
            is_retryable=True,
        ) from error


def translate(error: ClientError, thing: str) -> AffidavitError:
    code, status = code_of(error), int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if code in _THROTTLED or status == 429:
        return Throttled(f"{thing}: AWS asked us to slow down")
    if code in _MISSING:
        return NotFound(f"{thing}: there is no such thing", hint="check the name and the region")
    if code in _REFUSED:
        return InputRefused(f"{thing}: AWS refused the request ({code})", hint="check what was given")
    if code == "IdempotentParameterMismatch":
        return Conflict(f"{thing}: the token was used for another request", hint="use another token")
    if code == "InvalidAutomationStatusUpdateException":
        return Conflict(f"{thing}: it has ended already", hint="ask for its status")
    if code in _DENIED:
        return UpstreamFailed(
            f"{thing}: our role may not call {error.operation_name}", hint=f"allow {error.operation_name} to the role"
        )
    return UpstreamFailed(
        f"{thing}: {error.operation_name} failed ({code})",
        hint="try again" if status >= 500 else "look the code up in the service's reference",
        is_retryable=status >= 500,
    )
