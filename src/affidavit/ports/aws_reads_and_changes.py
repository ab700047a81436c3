"""Calls of AWS as data: who reads may only read, who changes holds credentials for exactly the calls it was given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from affidavit.ports.json import Item, JsonValue

# Stands for variables in a call: `{"VariablesOf": "arn:…:function:f:3"}`. The changer puts those of that version there.
VARIABLES_OF = "VariablesOf"
# Of an answer: under which ids CloudTrail will know the call.
REQUEST_IDS = "request_ids"


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiCall:
    """One call that changes something, with what IAM must allow for it.

    `operation` is the name of the client's method: `put_function_concurrency`. `action` and `resource` are what a
    policy calls it: `lambda:PutFunctionConcurrency` on the function's ARN. `conditions` narrow the statement further.
    `also` are further permissions, action and resource, that AWS asks of the caller for it.
    """

    service: str
    operation: str
    parameters: Item
    action: str
    resource: str
    conditions: Mapping[str, Mapping[str, JsonValue]] = field(default_factory=dict[str, Mapping[str, JsonValue]])
    also: tuple[tuple[str, str], ...] = ()


class StateReader(Protocol):
    """Reads an account in AWS's own words. It refuses every operation that does not read."""

    def read(self, service: str, operation: str, **parameters: JsonValue) -> Item:
        """The answer as JSON: times are text, the envelope is gone.

        Raises NotFound for a thing that is not there, Throttled or UpstreamFailed when nobody could look.
        """
        ...

    def read_all(self, service: str, operation: str, key: str, **parameters: JsonValue) -> Sequence[JsonValue]:
        """Every page of a paginated operation: the entries under `key`."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Grant:
    """What a changer may do, as whom, and for how long. The session policy says exactly this."""

    calls: tuple[ApiCall, ...]
    source_identity: str
    session_name: str
    seconds: int = 900


class Changer(Protocol):
    """Holds credentials that exist only for one grant."""

    def call(self, call: ApiCall) -> Item:
        """Make this call once: it is never repeated by the client, also not after a timeout.

        The answer, with the ids that CloudTrail will know the call by under `REQUEST_IDS`.

        Raises Conflict when the state it was made for is no longer there (a stale RevisionId), NotFound, InputRefused,
        Throttled, or UpstreamFailed. After UpstreamFailed nobody knows whether it took effect.
        """
        ...


class ChangerDoor(Protocol):
    """Where a changer comes from: AssumeRole under a session policy."""

    def open(self, grant: Grant) -> Changer:
        """Raises UpstreamFailed when the role cannot be assumed, InputRefused when the policy would be too long."""
        ...
