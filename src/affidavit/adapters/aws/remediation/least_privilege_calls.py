"""Makes a repair's AWS calls with temporary credentials that allow exactly those calls."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from botocore.config import Config
from botocore.exceptions import ClientError

from affidavit.adapters.aws.clients import CONNECT_SECONDS, READ_SECONDS, AwsClients
from affidavit.adapters.aws.error_translation import code_of, translated
from affidavit.adapters.aws.sessions.service_models import quick_session
from affidavit.errors import Conflict, InputRefused
from affidavit.ports.aws_reads_and_changes import REQUEST_IDS, VARIABLES_OF, ApiCall, Changer, Grant
from affidavit.ports.json import Item, JsonValue

# STS takes an inline session policy of at most so many characters.
MOST_POLICY_CHARACTERS = 2048
_STALE = {"PreconditionFailedException", "ResourceConflictException", "ResourceInUseException", "DeleteConflict"}
# How EC2 answers a dry run that would be allowed.
_WOULD_SUCCEED = "DryRunOperation"
_NOT_IN_SESSION_NAMES = re.compile(r"[^\w+=,.@-]")


class AssumedRoleDoor:
    """A `ChangerDoor`: each grant has credentials of its own, which end by themselves."""

    def __init__(self, clients: AwsClients, role_arn: str) -> None:
        self._clients, self._role_arn = clients, role_arn

    def open(self, grant: Grant) -> Changer:
        if not self._role_arn:
            raise InputRefused(
                "no role to repair with is set", hint="set REMEDIATION_ROLE_ARN; see docs/remediation.md"
            )
        with translated(f"role {self._role_arn}"):
            answer = self._clients.client("sts", attempts=1).assume_role(
                RoleArn=self._role_arn,
                RoleSessionName=sts_name(grant.session_name),
                SourceIdentity=sts_name(grant.source_identity),
                DurationSeconds=grant.seconds,
                Policy=session_policy(grant.calls),
            )
        return _AssumedChanger(answer["Credentials"], self._clients.region)


class _AssumedChanger:
    def __init__(self, credentials: Any, region: str) -> None:
        self._session, self._region, self._clients = quick_session(), region, dict[str, Any]()
        self._session.set_credentials(
            credentials["AccessKeyId"], credentials["SecretAccessKey"], credentials["SessionToken"]
        )

    def call(self, call: ApiCall) -> Item:
        thing = f"{call.action} on {call.resource}"
        with translated(thing):
            try:
                answer = getattr(self._client(call.service), call.operation)(**self._filled(call.parameters))
            except ClientError as error:
                if code_of(error) == _WOULD_SUCCEED and call.parameters.get("DryRun") is True:
                    return {REQUEST_IDS: _request_ids(error.response)}
                if code_of(error) in _STALE:
                    raise Conflict(
                        f"{thing}: it changed meanwhile", hint="nothing was changed; propose again"
                    ) from error
                raise
        said = json.loads(json.dumps({key: answer[key] for key in answer if key != "ResponseMetadata"}, default=str))
        return {**said, REQUEST_IDS: _request_ids(answer)}

    def _filled(self, parameters: Item) -> Item:
        """Fills in the variables of the named function version; they are kept only during the call."""
        environment = parameters.get("Environment")
        version = environment.get(VARIABLES_OF) if isinstance(environment, Mapping) else None
        if version is None:
            return parameters
        found = self._client("lambda").get_function_configuration(FunctionName=version).get("Environment", {})
        return {**parameters, "Environment": {"Variables": found.get("Variables", {})}}

    def _client(self, service: str) -> Any:
        if service not in self._clients:
            config = Config(
                connect_timeout=CONNECT_SECONDS, read_timeout=READ_SECONDS, retries={"total_max_attempts": 1}
            )
            self._clients[service] = self._session.create_client(service, region_name=self._region, config=config)
        return self._clients[service]


def session_policy(calls: Sequence[ApiCall]) -> str:
    """A policy of exactly these calls. Raises InputRefused when STS would not take it, or it would reach more."""
    _check_names_one_thing(calls)
    statements: list[Any] = []
    for statement in (one for call in calls for one in _statements(call)):
        if statement not in statements:
            statements.append(statement)
    text = json.dumps({"Version": "2012-10-17", "Statement": statements}, separators=(",", ":"))
    if len(text) > MOST_POLICY_CHARACTERS:
        raise InputRefused(
            f"the session policy of this plan has {len(text)} characters, more than {MOST_POLICY_CHARACTERS}",
            hint="propose the actions in two plans",
        )
    return text


def _check_names_one_thing(calls: Sequence[ApiCall]) -> None:
    """IAM reads a star, a question mark or a variable in a name as a pattern."""
    for resource in (one for call in calls for one in (call.resource, *(also for _, also in call.also))):
        if any(mark in resource for mark in ("*", "?", "${")):
            raise InputRefused(f"{resource} names more than one thing", hint="a repair is of one thing, by its ARN")


def sts_name(text: str) -> str:
    """A name in letters that STS takes. A long one keeps its last 64: an ARN ends with the name."""
    return _NOT_IN_SESSION_NAMES.sub("-", text)[-64:].rjust(2, "-")


def _request_ids(answer: Any) -> list[str]:
    """Some services name it in the body, some in a header; proxies may make the two differ."""
    metadata = answer.get("ResponseMetadata", {})
    headers = metadata.get("HTTPHeaders", {})
    found = (metadata.get("RequestId"), headers.get("x-amzn-requestid"), headers.get("x-amz-request-id"))
    return list(dict.fromkeys(str(one) for one in found if one))


def _statements(call: ApiCall) -> Iterator[dict[str, JsonValue]]:
    statement: dict[str, JsonValue] = {"Effect": "Allow", "Action": call.action, "Resource": call.resource}
    yield statement | ({"Condition": dict(call.conditions)} if call.conditions else {})
    for action, resource in call.also:
        yield {"Effect": "Allow", "Action": action, "Resource": resource}
