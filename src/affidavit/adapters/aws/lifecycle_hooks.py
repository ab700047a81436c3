"""Lifecycle hooks of EC2 Auto Scaling."""

from typing import Any

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.error_translation import translated
from affidavit.errors import UpstreamFailed
from affidavit.ports.lifecycle_hooks import HookAction

# Auto Scaling uses this code for every refusal, also when the lifecycle action no longer exists.
_OVER = "(ValidationError)"


class AutoScalingHooks:
    def __init__(self, clients: AwsClients) -> None:
        self._clients = clients

    def heartbeat(self, action: HookAction) -> bool:
        try:
            with translated(f"lifecycle action of {action.instance_id}"):
                self._asg(action).record_lifecycle_action_heartbeat(**_named(action))
        except UpstreamFailed as error:
            if _OVER in str(error):
                return False
            raise
        return True

    def go_on(self, action: HookAction) -> None:
        try:
            with translated(f"lifecycle action of {action.instance_id}"):
                self._asg(action).complete_lifecycle_action(**_named(action), LifecycleActionResult="CONTINUE")
        except UpstreamFailed as error:
            if _OVER not in str(error):
                raise

    def _asg(self, action: HookAction) -> Any:
        return self._clients.client("autoscaling", region=action.region or None)


def _named(action: HookAction) -> dict[str, str]:
    return {
        "LifecycleHookName": action.hook,
        "AutoScalingGroupName": action.group,
        "LifecycleActionToken": action.token,
        "InstanceId": action.instance_id,
    }
