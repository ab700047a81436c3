"""Reads the configuration, logs, permissions and network of a Lambda function from AWS. Read calls only."""

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.error_translation import code_of, translated
from affidavit.adapters.aws.workload.cloudtrail import recorded_events
from affidavit.errors import NotFound
from affidavit.ports.json import Item
from affidavit.ports.workload_inspector import LogLine, LogPage, TrailLookup, TrailPage

# CloudWatch Logs may answer page after page without an event; a window that needs more is reported as incomplete.
PAGES_AT_MOST = 50
PERIOD = 60
SET = "(set)"
_GONE = {
    "NoSuchEntity",
    "NoSuchEntityException",
    "NoSuchBucket",
    "NoSuchBucketPolicy",
    "NotFoundException",
    "ResourceNotFoundException",
    "InvalidSubnetID.NotFound",
    "InvalidGroup.NotFound",
    "InvalidVpcID.NotFound",
}


class AwsWorkloadInspector:
    """A `WorkloadInspector`."""

    def __init__(self, clients: AwsClients) -> None:
        self._clients = clients

    def log_lines(self, group: str, *, start: int, end: int, limit: int) -> LogPage:
        lines: list[LogLine] = []
        # One more than wanted, to know whether there is more: a token alone does not say so.
        asked: dict[str, Any] = {"logGroupName": group, "startTime": start, "endTime": end, "limit": limit + 1}
        for _ in range(PAGES_AT_MOST):
            with reading(f"log group {group}"):
                page = self._clients.client("logs").filter_log_events(**asked)
            lines += [LogLine(at=event["timestamp"], message=event["message"]) for event in page["events"]]
            token = page.get("nextToken")
            if token is None or len(lines) > limit:
                break
            asked["nextToken"] = token
        else:
            token = "given up"
        lines.sort(key=lambda line: line.at)
        return LogPage(lines=tuple(lines[:limit]), is_complete=token is None and len(lines) <= limit)

    def function(self, name: str) -> Item:
        with reading(f"function {name}"):
            raw = self._clients.client("lambda").get_function_configuration(FunctionName=name)
        return plain(raw | without_values(raw.get("Environment")))

    def reserved_concurrency(self, name: str) -> int | None:
        with reading(f"function {name}"):
            answer = self._clients.client("lambda").get_function_concurrency(FunctionName=name)
        return answer.get("ReservedConcurrentExecutions")

    def account_limits(self) -> Item:
        with reading("limits of the account"):
            return plain(self._clients.client("lambda").get_account_settings()["AccountLimit"])

    def metric(self, name: str, *, function: str | None, statistic: str, start: int, end: int) -> float | None:
        dimensions = [{"Name": "FunctionName", "Value": function}] if function else []
        with reading(f"metric {name}"):
            answer = self._clients.client("cloudwatch").get_metric_statistics(
                Namespace="AWS/Lambda",
                MetricName=name,
                Dimensions=dimensions,
                StartTime=_moment(start),
                EndTime=_moment(end),
                Period=PERIOD,
                Statistics=[statistic],
            )
        values = [float(point[statistic]) for point in answer["Datapoints"]]
        if not values:
            return None
        return sum(values) if statistic == "Sum" else max(values)

    def event_sources(self, name: str) -> Sequence[Item]:
        with reading(f"event sources of {name}"):
            found = self._all("lambda", "list_event_source_mappings", "EventSourceMappings", FunctionName=name)
        return _plains(found)

    def invoke_settings(self, name: str) -> Item | None:
        try:
            with reading(f"settings of asynchronous calls of {name}"):
                return plain(self._clients.client("lambda").get_function_event_invoke_config(FunctionName=name))
        except NotFound:
            return None

    def aliases(self, name: str) -> Sequence[Item]:
        with reading(f"aliases of {name}"):
            return _plains(self._all("lambda", "list_aliases", "Aliases", FunctionName=name))

    def role(self, name: str) -> Item:
        with reading(f"role {name}"):
            return plain(self._clients.client("iam").get_role(RoleName=name)["Role"])

    def inline_policies(self, role: str) -> Mapping[str, Item]:
        iam = self._clients.client("iam")
        with reading(f"policies of role {role}"):
            names = self._all("iam", "list_role_policies", "PolicyNames", RoleName=role)
            return {
                name: document_of(iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"])
                for name in names
            }

    def attached_policies(self, role: str) -> Sequence[str]:
        with reading(f"policies attached to role {role}"):
            attached = self._all("iam", "list_attached_role_policies", "AttachedPolicies", RoleName=role)
        return [entry["PolicyArn"] for entry in attached]

    def policy_document(self, arn: str) -> Item:
        iam = self._clients.client("iam")
        with reading(f"policy {arn}"):
            version = iam.get_policy(PolicyArn=arn)["Policy"]["DefaultVersionId"]
            answer = iam.get_policy_version(PolicyArn=arn, VersionId=version)
            return document_of(answer["PolicyVersion"]["Document"])

    def simulate(self, role_arn: str, *, action: str, resource: str) -> Item:
        with reading(f"simulation of {action}"):
            answer = self._clients.client("iam").simulate_principal_policy(
                PolicySourceArn=role_arn, ActionNames=[action], ResourceArns=[resource]
            )
            return plain(answer["EvaluationResults"][0])

    def resource_policy(self, arn: str) -> Item | None:
        service, name = arn.split(":")[2], arn.split(":")[-1]
        try:
            with reading(f"policy on {arn}"):
                match service:
                    case "lambda":
                        return document_of(self._clients.client("lambda").get_policy(FunctionName=arn)["Policy"])
                    case "s3":
                        return document_of(self._clients.client("s3").get_bucket_policy(Bucket=name)["Policy"])
                    case _:
                        policy = self._clients.client("kms").get_key_policy(KeyId=arn, PolicyName="default")
                        return document_of(policy["Policy"])
        except NotFound:
            return None

    def key_state(self, arn: str) -> str:
        with reading(f"key {arn}"):
            return str(self._clients.client("kms").describe_key(KeyId=arn)["KeyMetadata"]["KeyState"])

    def subnets(self, ids: Sequence[str]) -> Sequence[Item]:
        with reading("subnets"):
            return _plains(self._all("ec2", "describe_subnets", "Subnets", SubnetIds=list(ids)))

    def security_groups(self, ids: Sequence[str]) -> Sequence[Item]:
        with reading("security groups"):
            return _plains(self._all("ec2", "describe_security_groups", "SecurityGroups", GroupIds=list(ids)))

    def route_tables(self, vpc_id: str) -> Sequence[Item]:
        return self._of_vpc("describe_route_tables", "RouteTables", vpc_id)

    def network_acls(self, vpc_id: str) -> Sequence[Item]:
        return self._of_vpc("describe_network_acls", "NetworkAcls", vpc_id)

    def endpoints(self, vpc_id: str) -> Sequence[Item]:
        found = self._of_vpc("describe_vpc_endpoints", "VpcEndpoints", vpc_id)
        return [
            {**entry, "PolicyDocument": document_of(entry["PolicyDocument"])} if entry.get("PolicyDocument") else entry
            for entry in found
        ]

    def dns(self, vpc_id: str) -> Item:
        ec2 = self._clients.client("ec2")
        with reading(f"DNS settings of {vpc_id}"):
            settings = {
                name: ec2.describe_vpc_attribute(VpcId=vpc_id, Attribute=name)[name[0].upper() + name[1:]]["Value"]
                for name in ("enableDnsSupport", "enableDnsHostnames")
            }
            options = ec2.describe_vpcs(VpcIds=[vpc_id])["Vpcs"][0].get("DhcpOptionsId", "default")
            return {**settings, "domain-name-servers": self._name_servers(options)}

    def trail(self, lookup: TrailLookup, *, start: int, end: int, limit: int) -> TrailPage:
        return recorded_events(self._clients, lookup, start=start, end=end, limit=limit)

    def _name_servers(self, options_id: str) -> list[str]:
        if not options_id.startswith("dopt-"):
            return []
        ec2 = self._clients.client("ec2")
        found = ec2.describe_dhcp_options(DhcpOptionsIds=[options_id])["DhcpOptions"]
        settings = [setting for options in found for setting in options.get("DhcpConfigurations", [])]
        return [
            value["Value"]
            for setting in settings
            if setting["Key"] == "domain-name-servers"
            for value in setting["Values"]
        ]

    def _of_vpc(self, operation: str, key: str, vpc_id: str) -> Sequence[Item]:
        with reading(f"{key} of {vpc_id}"):
            return _plains(self._all("ec2", operation, key, Filters=[{"Name": "vpc-id", "Values": [vpc_id]}]))

    def _all(self, service: str, operation: str, key: str, **asked: Any) -> list[Any]:
        pages = self._clients.client(service).get_paginator(operation).paginate(**asked)
        return [entry for page in pages for entry in page.get(key, [])]


@contextmanager
def reading(thing: str) -> Generator[None]:
    with translated(thing):
        try:
            yield
        except ClientError as error:
            if code_of(error) in _GONE:
                raise NotFound(f"{thing}: there is no such thing", hint="check the name and the region") from error
            raise


def without_values(environment: Mapping[str, Any] | None) -> dict[str, Any]:
    """Values of variables are secrets more often than not, so they stop here."""
    if environment is None:
        return {}
    names = environment.get("Variables", {})
    error = {"Error": environment["Error"]} if "Error" in environment else {}
    return {"Environment": {"Variables": dict.fromkeys(names, SET), **error}}


def document_of(raw: Any) -> Item:
    """A policy, which some calls give as text and others decoded."""
    return json.loads(raw) if isinstance(raw, str) else plain(raw)


def plain(raw: Any) -> Item:
    """The answer as JSON: times become text, the envelope of the response goes."""
    return {
        key: value for key, value in json.loads(json.dumps(raw, default=_text)).items() if key != "ResponseMetadata"
    }


def _plains(raw: Sequence[Any]) -> list[Item]:
    return [plain(entry) for entry in raw]


def _text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
