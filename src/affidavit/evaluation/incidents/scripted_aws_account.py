"""Answers the port that reads an AWS account from data instead."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from affidavit.errors import NotFound, UpstreamFailed
from affidavit.evaluation.incidents.invocation_logs import Logged, Span
from affidavit.ports.json import Item
from affidavit.ports.workload_inspector import LogLine, LogPage, LookupKey, TrailLookup, TrailPage

Raw = dict[str, JsonValue]


def _raws() -> list[Raw]:
    return []


class TrailEvent(BaseModel):
    """A recorded call, `ago` before now, on `resources` by name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ago: Span
    event_name: str
    event_source: str
    by: str
    """ARN of who called."""
    resources: list[str]
    request: Raw = Field(default_factory=dict[str, JsonValue])
    read_only: bool = False
    error_code: str | None = None


class AccountState(BaseModel):
    """What each API returns, in AWS's own field names."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    function: Raw
    reserved_concurrency: int | None = None
    account_limits: Raw = Field(default_factory=dict[str, JsonValue])
    metrics: dict[str, float] = Field(default_factory=dict[str, float])
    """By metric name; `Account/…` is the account's. A name that is not here has no datapoint."""
    logs: list[Logged] = Field(default_factory=list[Logged])
    has_log_group: bool = True
    event_sources: list[Raw] = Field(default_factory=_raws)
    invoke_settings: Raw | None = None
    aliases: list[Raw] = Field(default_factory=_raws)
    role: Raw | None = None
    inline_policies: dict[str, Raw] = Field(default_factory=dict[str, Raw])
    policies: dict[str, Raw] = Field(default_factory=dict[str, Raw])
    attached: list[str] = Field(default_factory=list[str])
    simulation: dict[str, str | Raw] = Field(default_factory=dict[str, "str | Raw"])
    """Decision, or a whole EvaluationResult, by action. Without an entry the simulator may not be asked."""
    resource_policies: dict[str, Raw] = Field(default_factory=dict[str, Raw])
    keys: dict[str, str] = Field(default_factory=dict[str, str])
    subnets: list[Raw] = Field(default_factory=_raws)
    security_groups: list[Raw] = Field(default_factory=_raws)
    route_tables: list[Raw] = Field(default_factory=_raws)
    network_acls: list[Raw] = Field(default_factory=_raws)
    endpoints: list[Raw] = Field(default_factory=_raws)
    dns: Raw = Field(default_factory=dict[str, JsonValue])
    trail: list[TrailEvent] = Field(default_factory=list["TrailEvent"])
    """Calls that CloudTrail recorded."""
    unreadable: dict[str, str] = Field(default_factory=dict[str, str])
    """Methods of the port that fail, with AWS's error."""


def _is_found(event: TrailEvent, lookup: TrailLookup) -> bool:
    return lookup.value in (event.resources if lookup.by is LookupKey.RESOURCE else [event.event_name])


def _event_time(event: Item) -> str:
    return str(event["eventTime"])


def _milliseconds(event: Item) -> float:
    return datetime.fromisoformat(_event_time(event).replace("Z", "+00:00")).timestamp() * 1000


def _with_policy(endpoint: Raw) -> Raw:
    """EC2 gives an endpoint's policy as text; the port gives it decoded."""
    policy = endpoint.get("PolicyDocument")
    return {**endpoint, "PolicyDocument": json.loads(policy)} if isinstance(policy, str) else endpoint


@dataclass(frozen=True, kw_only=True)
class ScriptedInspector:
    """A `WorkloadInspector` over an account state."""

    state: AccountState
    lines: tuple[LogLine, ...]
    now: datetime

    def log_lines(self, group: str, *, start: int, end: int, limit: int) -> LogPage:
        self._readable("log_lines")
        if not self.state.has_log_group or group != self._log_group():
            raise NotFound(f"log group {group} does not exist", hint="a function that never ran has none")
        inside = [line for line in self.lines if start <= line.at <= end]
        return LogPage(lines=tuple(inside[:limit]), is_complete=len(inside) <= limit)

    def function(self, name: str) -> Item:
        self._readable("function")
        if name != self.state.function["FunctionName"]:
            raise NotFound(f"function {name} does not exist")
        return self.state.function

    def reserved_concurrency(self, name: str) -> int | None:
        self._readable("reserved_concurrency")
        return self.state.reserved_concurrency

    def account_limits(self) -> Item:
        self._readable("account_limits")
        return self.state.account_limits

    def metric(self, name: str, *, function: str | None, statistic: str, start: int, end: int) -> float | None:
        self._readable("metric")
        return self.state.metrics.get(name if function else f"Account/{name}")

    def event_sources(self, name: str) -> Sequence[Item]:
        self._readable("event_sources")
        return self.state.event_sources

    def invoke_settings(self, name: str) -> Item | None:
        self._readable("invoke_settings")
        return self.state.invoke_settings

    def aliases(self, name: str) -> Sequence[Item]:
        self._readable("aliases")
        return self.state.aliases

    def role(self, name: str) -> Item:
        self._readable("role")
        if self.state.role is None:
            raise NotFound(f"role {name} does not exist")
        return self.state.role

    def inline_policies(self, role: str) -> Mapping[str, Item]:
        self._readable("inline_policies")
        return self.state.inline_policies

    def attached_policies(self, role: str) -> Sequence[str]:
        self._readable("attached_policies")
        return self.state.attached

    def policy_document(self, arn: str) -> Item:
        self._readable("policy_document")
        if arn not in self.state.policies:
            raise NotFound(f"policy {arn} does not exist")
        return self.state.policies[arn]

    def simulate(self, role_arn: str, *, action: str, resource: str) -> Item:
        self._readable("simulate")
        said = self.state.simulation.get(action)
        if said is None:
            raise UpstreamFailed("AccessDenied: iam:SimulatePrincipalPolicy", hint="allow it for the reader")
        return {"EvalDecision": said} if isinstance(said, str) else said

    def resource_policy(self, arn: str) -> Item | None:
        self._readable("resource_policy")
        return self.state.resource_policies.get(arn)

    def key_state(self, arn: str) -> str:
        self._readable("key_state")
        if arn not in self.state.keys:
            raise NotFound(f"key {arn} does not exist")
        return self.state.keys[arn]

    def subnets(self, ids: Sequence[str]) -> Sequence[Item]:
        self._readable("subnets")
        return [subnet for subnet in self.state.subnets if subnet["SubnetId"] in ids]

    def security_groups(self, ids: Sequence[str]) -> Sequence[Item]:
        self._readable("security_groups")
        return [group for group in self.state.security_groups if group["GroupId"] in ids]

    def route_tables(self, vpc_id: str) -> Sequence[Item]:
        self._readable("route_tables")
        return self.state.route_tables

    def network_acls(self, vpc_id: str) -> Sequence[Item]:
        self._readable("network_acls")
        return self.state.network_acls

    def endpoints(self, vpc_id: str) -> Sequence[Item]:
        self._readable("endpoints")
        return [_with_policy(endpoint) for endpoint in self.state.endpoints]

    def dns(self, vpc_id: str) -> Item:
        self._readable("dns")
        return self.state.dns

    def trail(self, lookup: TrailLookup, *, start: int, end: int, limit: int) -> TrailPage:
        self._readable("trail")
        asked = [event for event in self.state.trail if _is_found(event, lookup)]
        dated = sorted((self._recorded(event) for event in asked), key=_event_time)
        inside = [event for event in reversed(dated) if start <= _milliseconds(event) <= end]
        return TrailPage(events=tuple(inside[:limit]), is_complete=len(inside) <= limit)

    def _recorded(self, event: TrailEvent) -> Item:
        moment = self.now - timedelta(milliseconds=event.ago)
        recorded: Raw = {
            "eventID": f"{event.event_name}-{event.ago}",
            "eventTime": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "eventName": event.event_name,
            "eventSource": event.event_source,
            "userIdentity": {"type": "AssumedRole", "arn": event.by},
            "requestParameters": event.request,
            "readOnly": event.read_only,
            "resourceNames": [*event.resources],
        }
        return recorded | ({"errorCode": event.error_code} if event.error_code else {})

    def _readable(self, method: str) -> None:
        if method in self.state.unreadable:
            raise UpstreamFailed(self.state.unreadable[method], hint="allow the reader to look, then ask again")

    def _log_group(self) -> str:
        configured = self.state.function.get("LoggingConfig")
        name = configured.get("LogGroup") if isinstance(configured, dict) else None
        return name if isinstance(name, str) else f"/aws/lambda/{self.state.function['FunctionName']}"
