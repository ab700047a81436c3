"""The Auto Scaling group of a node, and whether it can do without the node for a while."""

from collections.abc import Iterator
from math import floor

from affidavit.errors import NotFound
from affidavit.ports.aws_reads_and_changes import StateReader
from affidavit.ports.json import Item
from affidavit.remediation.actions.arns import parse_arn
from affidavit.remediation.actions.trail_event_fields import items

# The most of a group that may be unhealthy, the node that is repaired among them.
MOST_UNHEALTHY = 0.2


def group_named(arn: str, reader: StateReader) -> Item:
    """Raises NotFound."""
    name = parse_arn(arn).resource.rpartition("autoScalingGroupName/")[2]
    found = reader.read("autoscaling", "describe_auto_scaling_groups", AutoScalingGroupNames=[name])
    groups = [one for one in items(found.get("AutoScalingGroups")) if one.get("AutoScalingGroupARN") == arn]
    if not groups:
        raise NotFound(f"there is no Auto Scaling group {name}", hint="propose again")
    return groups[0]


def group_of(instance_id: str, reader: StateReader) -> Item | None:
    """The group that an instance belongs to; None for one that belongs to none."""
    found = reader.read("autoscaling", "describe_auto_scaling_instances", InstanceIds=[instance_id])
    names = [str(one["AutoScalingGroupName"]) for one in items(found.get("AutoScalingInstances"))]
    if not names:
        return None
    listed = reader.read("autoscaling", "describe_auto_scaling_groups", AutoScalingGroupNames=names[:1])
    return next(iter(items(listed.get("AutoScalingGroups"))), None)


def members(group: Item) -> dict[str, Item]:
    """Instances by id, without those on their way out."""
    living = (one for one in items(group.get("Instances")) if not _is_leaving(one))
    return {str(one["InstanceId"]): one for one in living}


def is_whole(group: Item) -> bool:
    """As many well instances as are wanted, and nobody coming or going."""
    well = [one for one in items(group.get("Instances")) if _is_well(one)]
    return len(well) == len(items(group.get("Instances"))) >= _desired(group)


def group_problems(instance_id: str, group: Item) -> Iterator[str]:
    name = group["AutoScalingGroupName"]
    there = items(group.get("Instances"))
    if instance_id not in members(group):
        yield f"{instance_id} is not in {name}"
    moving = [str(one["InstanceId"]) for one in there if one.get("LifecycleState") != "InService"]
    if others := [one for one in moving if one != instance_id]:
        yield f"{', '.join(others)} of {name} comes or goes: one at a time"
    unwell = {str(one["InstanceId"]) for one in there if not _is_well(one)} | {instance_id}
    missing = max(0, _desired(group) - len(there))
    most = floor(max(_desired(group), len(there)) * MOST_UNHEALTHY)
    if len(unwell) + missing > most:
        count = len(unwell) + missing
        yield f"{count} of {_desired(group)} nodes of {name} would be unhealthy, at most {most} may be"


def _desired(group: Item) -> int:
    return int(str(group.get("DesiredCapacity") or 0))


def _is_leaving(instance: Item) -> bool:
    return str(instance.get("LifecycleState")).startswith("Terminat")


def _is_well(instance: Item) -> bool:
    return instance.get("LifecycleState") == "InService" and instance.get("HealthStatus") == "Healthy"
