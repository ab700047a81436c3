"""Which nodes there are, from EC2's tags and EKS."""

import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.error_translation import translated
from affidavit.errors import InputRefused, NotFound, Throttled, UpstreamFailed
from affidavit.ports.node_directory import Node

# Managed node groups, Karpenter and self-managed nodes tag differently; each node has at least one of them.
_NAME_TAGS = ("eks:cluster-name", "aws:eks:cluster-name")
# AWS alone can set a tag that begins so; whoever may tag an instance can set the others.
_SET_BY_AWS = "aws:eks:cluster-name"
_OWNED_TAG = "kubernetes.io/cluster/"
_GONE = ("terminated", "shutting-down")
_ADDRESS = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3}){3}")
_STATUS_BATCH = 100
# An account has some thirty regions, and a bundle waits for the slowest of them.
_AT_ONCE = 16


class Ec2NodeDirectory:
    """Health is what EC2's status checks say; without an answer of theirs it is unknown, not good."""

    def __init__(self, clients: AwsClients) -> None:
        self._clients = clients

    def region_of(self, instance_id: str) -> str | None:
        """Our own region first, then every other one of the account, at once: a node that is gone is in none of them.

        Raises UpstreamFailed when one could not be asked and the others do not have the instance: then nobody knows.
        """
        home = self._clients.region
        at_home = self._looked(instance_id, home)
        if at_home is True:
            return home
        others = self._other_regions()
        with ThreadPoolExecutor(_AT_ONCE) as asking:
            answers = [at_home, *asking.map(partial(self._looked, instance_id), others)]
        found = [region for region, is_there in zip((home, *others), answers, strict=True) if is_there is True]
        failures = [answer for answer in answers if isinstance(answer, UpstreamFailed)]
        if failures and not found:
            raise failures[0]
        return next(iter(found), None)

    def cluster_of(self, instance_id: str, *, region: str) -> str | None:
        instance = self._instance(instance_id, region)
        return _cluster(instance) if instance is not None else None

    def instance_named(self, name: str, *, region: str) -> str | None:
        field = "private-ip-address" if _ADDRESS.fullmatch(name) else "private-dns-name"
        found = {one["InstanceId"] for one in self._instances(region, Filters=[{"Name": field, "Values": [name]}])}
        return found.pop() if len(found) == 1 else None

    def name_of(self, instance_id: str, *, region: str) -> str | None:
        instance = self._instance(instance_id, region)
        return str(instance.get("PrivateDnsName") or "") or None if instance is not None else None

    def nodes_of(self, cluster: str, *, region: str) -> Sequence[Node]:
        self._check_cluster(cluster, region)
        found = {instance["InstanceId"]: instance for instance in self._tagged(cluster, region)}
        living = [each for each in found.values() if each["State"]["Name"] not in _GONE]
        health = self._health([each["InstanceId"] for each in living], region)
        nodes = (_node(each, region, health.get(each["InstanceId"])) for each in living)
        return sorted(nodes, key=lambda node: node.instance_id)

    def _looked(self, instance_id: str, region: str) -> bool | UpstreamFailed:
        try:
            return self._instance(instance_id, region) is not None
        except UpstreamFailed as failure:
            return failure

    def _other_regions(self) -> list[str]:
        home = self._clients.region
        with translated("regions of the account"):
            regions = self._ec2(home).describe_regions()["Regions"]
        return sorted({region["RegionName"] for region in regions} - {home})

    def _check_cluster(self, cluster: str, region: str) -> None:
        try:
            with translated(f"cluster {cluster}"):
                self._clients.client("eks", region=region).describe_cluster(name=cluster)
        except NotFound as error:
            raise InputRefused(
                f"there is no cluster {cluster} in {region}", hint="check the name, and give its region"
            ) from error

    def _instance(self, instance_id: str, region: str) -> dict[str, Any] | None:
        try:
            return next(self._instances(region, InstanceIds=[instance_id]), None)
        except NotFound:
            return None

    def _tagged(self, cluster: str, region: str) -> Iterator[dict[str, Any]]:
        yield from self._instances(region, Filters=[{"Name": "tag-key", "Values": [f"{_OWNED_TAG}{cluster}"]}])
        for tag in _NAME_TAGS:
            yield from self._instances(region, Filters=[{"Name": f"tag:{tag}", "Values": [cluster]}])

    def _instances(self, region: str, **which: Any) -> Iterator[dict[str, Any]]:
        with translated(f"instances in {region}"):
            for page in self._ec2(region).get_paginator("describe_instances").paginate(**which):
                for reservation in page["Reservations"]:
                    yield from reservation["Instances"]

    def _health(self, instance_ids: Sequence[str], region: str) -> dict[str, bool | None]:
        health: dict[str, bool | None] = {}
        for start in range(0, len(instance_ids), _STATUS_BATCH):
            for status in self._statuses(instance_ids[start : start + _STATUS_BATCH], region):
                checks = {status[check]["Status"] for check in ("SystemStatus", "InstanceStatus")}
                health[status["InstanceId"]] = _verdict(checks)
        return health

    def _statuses(self, instance_ids: Sequence[str], region: str) -> Iterable[dict[str, Any]]:
        try:
            with translated(f"status checks in {region}"):
                answer = self._ec2(region).describe_instance_status(
                    InstanceIds=list(instance_ids), IncludeAllInstances=True
                )
        except NotFound:  # one of them went away in between
            return []
        except UpstreamFailed as failure:
            if isinstance(failure, Throttled) or failure.is_retryable:
                raise
            return []  # not allowed to ask
        return answer["InstanceStatuses"]

    def _ec2(self, region: str) -> Any:
        return self._clients.client("ec2", region=region)


def _verdict(checks: set[str]) -> bool | None:
    if "impaired" in checks:
        return False
    return True if checks == {"ok"} else None


def _cluster(instance: dict[str, Any]) -> str | None:
    """None also when tags name several clusters: what may be collected hangs on the answer, so none is guessed."""
    tags = {tag["Key"]: tag["Value"] for tag in instance.get("Tags", ())}
    if _SET_BY_AWS in tags:
        return tags[_SET_BY_AWS]
    names = {tags[tag] for tag in _NAME_TAGS if tag in tags}
    names |= {tag.removeprefix(_OWNED_TAG) for tag in tags if tag.startswith(_OWNED_TAG)}
    return names.pop() if len(names) == 1 else None


def _node(instance: dict[str, Any], region: str, is_healthy: bool | None) -> Node:
    return Node(
        instance_id=instance["InstanceId"],
        cluster=_cluster(instance) or "",
        region=region,
        zone=instance.get("Placement", {}).get("AvailabilityZone", ""),
        instance_type=instance.get("InstanceType", ""),
        state=instance["State"]["Name"],
        is_healthy=is_healthy,
    )
