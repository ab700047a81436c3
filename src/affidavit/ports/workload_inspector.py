"""Reads what an account says about a Lambda function."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from affidavit.ports.json import Item


@dataclass(frozen=True, kw_only=True, slots=True)
class LogLine:
    at: int
    """Milliseconds since the epoch."""
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LogPage:
    lines: tuple[LogLine, ...]
    """Oldest first."""
    is_complete: bool
    """False when the window holds more than the limit, or the reading was given up."""


class LookupKey(StrEnum):
    """What CloudTrail can be asked by; one of them in a lookup."""

    RESOURCE = "ResourceName"
    CALL = "EventName"


@dataclass(frozen=True, kw_only=True, slots=True)
class TrailLookup:
    by: LookupKey
    value: str
    is_global: bool = False
    """Of IAM, whose events are kept in one region for all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrailPage:
    events: tuple[Item, ...]
    """Newest first, in CloudTrail's own field names, with `resourceNames` beside them."""
    is_complete: bool
    """False when the window holds more than the limit."""


class WorkloadInspector(Protocol):
    """Reads what an account says about a Lambda function, in AWS's own field names. It cannot change anything.

    Every method raises NotFound for a thing that is not there, and UpstreamFailed when nobody could look.
    """

    def log_lines(self, group: str, *, start: int, end: int, limit: int) -> LogPage:
        """Lines of a log group from `start` to `end`, milliseconds, both included."""
        ...

    def function(self, name: str) -> Item:
        """GetFunctionConfiguration. It lacks the reserved concurrency."""
        ...

    def reserved_concurrency(self, name: str) -> int | None: ...

    def account_limits(self) -> Item:
        """The AccountLimit of GetAccountSettings."""
        ...

    def metric(self, name: str, *, function: str | None, statistic: str, start: int, end: int) -> float | None:
        """One number over the window from AWS/Lambda, of the whole account without a function; None: no datapoint."""
        ...

    def event_sources(self, name: str) -> Sequence[Item]:
        """ListEventSourceMappings: the queues and streams that call the function."""
        ...

    def invoke_settings(self, name: str) -> Item | None:
        """GetFunctionEventInvokeConfig: retries, age and destinations of asynchronous calls; None when none is set."""
        ...

    def aliases(self, name: str) -> Sequence[Item]: ...

    def role(self, name: str) -> Item: ...

    def inline_policies(self, role: str) -> Mapping[str, Item]: ...

    def attached_policies(self, role: str) -> Sequence[str]: ...

    def policy_document(self, arn: str) -> Item:
        """The default version of a managed policy."""
        ...

    def simulate(self, role_arn: str, *, action: str, resource: str) -> Item:
        """One EvaluationResult of SimulatePrincipalPolicy."""
        ...

    def resource_policy(self, arn: str) -> Item | None:
        """The policy on a function, a bucket or a key; None when it has none."""
        ...

    def key_state(self, arn: str) -> str: ...

    def subnets(self, ids: Sequence[str]) -> Sequence[Item]: ...

    def security_groups(self, ids: Sequence[str]) -> Sequence[Item]: ...

    def route_tables(self, vpc_id: str) -> Sequence[Item]: ...

    def network_acls(self, vpc_id: str) -> Sequence[Item]: ...

    def endpoints(self, vpc_id: str) -> Sequence[Item]: ...

    def dns(self, vpc_id: str) -> Item:
        """`enableDnsSupport`, `enableDnsHostnames` and the `domain-name-servers` of the DHCP options."""
        ...

    def trail(self, lookup: TrailLookup, *, start: int, end: int, limit: int) -> TrailPage:
        """Management events of CloudTrail from `start` to `end`, milliseconds."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyVersion:
    version_id: str
    is_default: bool
    created_at: str
    """ISO 8601."""


class StateInspector(WorkloadInspector, Protocol):
    """Like every inspector it cannot change anything."""

    def environment_digests(self, name: str, *, key: bytes) -> Mapping[str, str]:
        """HMAC-SHA256 of each environment variable under `key`, by name. Values never leave the adapter."""
        ...

    def policy_versions(self, arn: str) -> Sequence[PolicyVersion]:
        """The versions that a managed policy still has, newest first."""
        ...

    def policy_version(self, arn: str, version_id: str) -> Item:
        """The document of one version."""
        ...

    def trail_event(self, event_id: str) -> Item | None:
        """CloudTrail's record of one event, as `trail` gives it."""
        ...

    def function_versions(self, name: str) -> Sequence[Item]:
        """Published versions, as GetFunctionConfiguration gives them, without the values of variables."""
        ...
