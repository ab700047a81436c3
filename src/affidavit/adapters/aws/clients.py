"""Clients of AWS, and the one place where their errors become ours.

An alert that was handled already is answered with one read of DynamoDB, and then the making of that client is most of
the cost. So clients come from botocore, which boto3 is a layer on; only S3's, with its file transfers, is boto3's own.
"""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, ParamValidationError

from affidavit.adapters.aws.sessions.service_models import quick_session
from affidavit.errors import AffidavitError, Conflict, InputRefused, NotFound, Throttled, UpstreamFailed

CONNECT_SECONDS = 3
READ_SECONDS = 20
ATTEMPTS = 3

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


class AwsClients:
    """One client per service and region, made when first asked for; safe to share between threads.

    Where a call goes can be changed by AWS_ENDPOINT_URL and AWS_ENDPOINT_URL_<SERVICE>, as the sandbox does.
    """

    def __init__(self, region: str) -> None:
        self.region = region
        self._lock = threading.Lock()
        self._clients: dict[tuple[str, str, int], Any] = {}
        self._session: Any = None

    def client(self, service: str, *, region: str | None = None, attempts: int = ATTEMPTS) -> Any:
        place = (service, region or self.region, attempts)
        with self._lock:  # making a client is not thread-safe, using one is
            if place not in self._clients:
                self._session = self._session or self._new_session()
                self._clients[place] = _made(self._session, service, place[1], _config(service, attempts))
            return self._clients[place]

    def _new_session(self) -> Any:
        return quick_session()


def _made(session: Any, service: str, region: str, config: Config) -> Any:
    if service != "s3":
        return session.create_client(service, region_name=region, config=config)
    import boto3

    return boto3.Session(botocore_session=session).client(service, region, config=config)


def _config(service: str, attempts: int) -> Config:
    return Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        # `max_attempts` would not count the first one.
        retries={"total_max_attempts": attempts, "mode": "standard"},
        max_pool_connections=32,
        # Presigned links to objects under a KMS key need it.
        signature_version="s3v4" if service == "s3" else None,
    )


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
