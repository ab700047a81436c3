"""Gives the emulator's Auto Scaling groups instances of EC2, and the call that replaces one of them."""

import re
from typing import Any

_INSTANCE = re.compile(r"<instanceId>(i-[0-9a-f]+)</instanceId>")


class ScalingGroups:
    def __init__(self, autoscaling: Any, ec2: Any) -> None:
        self._asg, self._ec2, self._reconcile = autoscaling, ec2, autoscaling._reconcile_instances

    def reconcile(self, group: dict[str, Any]) -> None:
        """Every instance of a group is one that EC2 knows, with the group's tags."""
        self._reconcile(group)
        for instance in group["Instances"]:
            if instance["InstanceId"] not in self._ec2._instances:
                instance["InstanceId"] = self._launched(group)

    def terminate(self, asked: Any) -> Any:
        instance_id = self._asg._p(asked, "InstanceId")
        group = self.group_of(instance_id)
        if group is None:
            return self._asg._error("ValidationError", f"Instance Id not found - No managed instance {instance_id}")
        if self._asg._p(asked, "ShouldDecrementDesiredCapacity") == "true":
            group["DesiredCapacity"] -= 1
        group["Instances"] = [one for one in group["Instances"] if one["InstanceId"] != instance_id]
        self._ec2._ACTION_MAP["TerminateInstances"]({"InstanceId.1": [instance_id]})
        self.reconcile(group)
        result = "<TerminateInstanceInAutoScalingGroupResult/>"
        return self._asg._xml(200, "TerminateInstanceInAutoScalingGroupResponse", result)

    def group_of(self, instance_id: str) -> dict[str, Any] | None:
        groups: list[dict[str, Any]] = list(self._asg._asgs.values())
        return next((one for one in groups if any(i["InstanceId"] == instance_id for i in one["Instances"])), None)

    def _launched(self, group: dict[str, Any]) -> str:
        asked: dict[str, list[str]] = {"ImageId": ["ami-00000000"], "MinCount": ["1"], "MaxCount": ["1"]}
        asked["TagSpecification.1.ResourceType"] = ["instance"]
        for number, tag in enumerate(group.get("Tags", []), start=1):
            asked[f"TagSpecification.1.Tag.{number}.Key"] = [tag["Key"]]
            asked[f"TagSpecification.1.Tag.{number}.Value"] = [tag["Value"]]
        _, _, body = self._ec2._ACTION_MAP["RunInstances"](asked)
        return str(_INSTANCE.findall(body.decode())[0])


def add_scaling_groups(autoscaling: Any, ec2: Any) -> ScalingGroups:
    """`autoscaling` and `ec2` are the emulator's service modules."""
    groups = ScalingGroups(autoscaling, ec2)
    autoscaling._reconcile_instances = groups.reconcile
    autoscaling._ACTION_MAP["TerminateInstanceInAutoScalingGroup"] = groups.terminate
    return groups
