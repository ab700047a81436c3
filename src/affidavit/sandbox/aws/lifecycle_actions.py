"""Auto Scaling's lifecycle actions: a group waits with the end of an instance until the action is completed."""

import threading
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from affidavit.sandbox.aws.request_routing import GatewayAnswer, GatewayRequest

_XMLNS = "http://autoscaling.amazonaws.com/doc/2011-01-01/"
_NEEDED = ("AutoScalingGroupName", "LifecycleHookName", "LifecycleActionToken", "InstanceId")


@dataclass(slots=True)
class LifecycleActions:
    """`waiting` are the tokens of actions that nobody completed yet; `results` what became of the others."""

    waiting: set[str] = field(default_factory=set[str])
    results: dict[str, str] = field(default_factory=dict[str, str])
    heartbeats: dict[str, int] = field(default_factory=dict[str, int])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, token: str) -> None:
        with self._lock:
            self.waiting.add(token)

    def answer(self, request: GatewayRequest) -> GatewayAnswer | None:
        if request.service != "autoscaling":
            return None
        asked = dict(parse_qsl(request.body.decode()))
        action = asked.get("Action", "")
        if action not in ("RecordLifecycleActionHeartbeat", "CompleteLifecycleAction"):
            return _refused(f"{action} is not known here")
        missing = [name for name in _NEEDED if not asked.get(name)]
        if missing:
            return _refused(f"{missing[0]} is needed")
        with self._lock:
            return self._carry_out(action, asked)

    def _carry_out(self, action: str, asked: dict[str, str]) -> GatewayAnswer:
        token = asked["LifecycleActionToken"]
        if token not in self.waiting:
            return _refused(f"No active Lifecycle Action found with instance ID {asked['InstanceId']}")
        if action == "RecordLifecycleActionHeartbeat":
            self.heartbeats[token] = self.heartbeats.get(token, 0) + 1
        elif asked.get("LifecycleActionResult") not in ("CONTINUE", "ABANDON"):
            return _refused("LifecycleActionResult must be CONTINUE or ABANDON")
        else:
            self.waiting.discard(token)
            self.results[token] = asked["LifecycleActionResult"]
        body = f'<{action}Response xmlns="{_XMLNS}"><{action}Result/></{action}Response>'
        return GatewayAnswer(body=body.encode(), headers={"Content-Type": "text/xml"})


def _refused(why: str) -> GatewayAnswer:
    error = f"<Error><Type>Sender</Type><Code>ValidationError</Code><Message>{why}</Message></Error>"
    body = f'<ErrorResponse xmlns="{_XMLNS}">{error}</ErrorResponse>'
    return GatewayAnswer(status=400, body=body.encode(), headers={"Content-Type": "text/xml"})
