"""SSM Automation on this machine: runs the collection runbook on the sandbox's nodes, over the service's own protocol.

It starts one execution per ClientToken however often it is asked. A node can be told to fail, to hang, to be slow, to
throttle or to lose the answer.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from affidavit.sandbox.account.node_archives import archive_of
from affidavit.sandbox.account.nodes import Fleet
from affidavit.sandbox.aws.automation_executions import STEPS, AutomationRun, Executions
from affidavit.sandbox.aws.request_routing import AnswerLost, GatewayAnswer, GatewayRequest

RUNBOOK = "AWSSupport-CollectEKSInstanceLogs"
STEP_SECONDS = 0.05
_INSTANCE = re.compile(r"i-[0-9a-f]{8,17}")
_TOKEN = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

Json: TypeAlias = dict[str, Any]
Upload: TypeAlias = Callable[[str, str, bytes], None]
"""Bucket, key, bytes."""
OnUpload: TypeAlias = Callable[[str, str], None]
"""Bucket, key: what the bucket's event would start."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Conduct:
    """How a node's collections go. Starts that are refused or whose answer is lost come first, one each."""

    ends: str = "Success"
    """Or Failed, TimedOut."""
    failure: str = "Step fails when it is Execute/Cancelling action."
    step_seconds: float = STEP_SECONDS
    is_hanging: bool = False
    """It stays InProgress until it is stopped."""
    refusals: tuple[str, ...] = ()
    """Error codes, for the first starts: ThrottlingException, InternalServerError, …"""
    lost_answers: int = 0


class _Refusal(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(slots=True)
class Automation:
    fleet: Fleet
    upload: Upload
    on_upload: OnUpload | None = None
    executions: Executions = field(default_factory=Executions)
    start_requests: int = 0
    """How often a start was asked for, repeats included; `executions` tells how many ran."""
    hook_failures: list[Exception] = field(default_factory=list[Exception])
    _conducts: dict[str, Conduct] = field(default_factory=dict[str, Conduct])
    _refused: dict[str, int] = field(default_factory=dict[str, int])
    _lost: dict[str, int] = field(default_factory=dict[str, int])
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopping: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list[threading.Thread])

    def conduct(self, instance_id: str, conduct: Conduct) -> None:
        """From now on this node's collections go so."""
        with self._lock:
            self._conducts[instance_id] = conduct
            self._refused.pop(instance_id, None)
            self._lost.pop(instance_id, None)

    def resume(self) -> None:
        """Goes on with what had not ended when the simulator stopped."""
        for run in self.executions.all():
            if not run.has_ended:
                self._start_thread(run)

    def stop(self) -> None:
        """Returns when nothing of it runs any more: two simulators must not write to one file."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def runs_of(self, instance_id: str) -> list[AutomationRun]:
        return [run for run in self.executions.all() if run.instance_id == instance_id]

    def answer(self, request: GatewayRequest) -> GatewayAnswer | None:
        _, _, operation = request.headers.get("x-amz-target", "").partition("AmazonSSM.")
        handle = self._operations.get(operation) if request.service == "ssm" else None
        if handle is None:
            return None
        try:
            return _json(200, handle(json.loads(request.body or b"{}"), request.region))
        except _Refusal as refusal:
            status = 500 if refusal.code == "InternalServerError" else 400
            return _json(status, {"__type": refusal.code, "message": str(refusal)})

    @property
    def _operations(self) -> Mapping[str, Callable[[Json, str], Json]]:
        return {
            "StartAutomationExecution": self._start,
            "GetAutomationExecution": self._get,
            "StopAutomationExecution": self._stop,
            "DescribeAutomationExecutions": self._describe,
        }

    def _start(self, asked: Json, region: str) -> Json:
        parameters: dict[str, list[str]] = asked.get("Parameters") or {}
        instance_id, token = _checked(asked, parameters)
        conduct = self._admit(instance_id)
        run, is_new = self.executions.begin(token, region, asked["DocumentName"], parameters)
        if run.parameters != parameters:
            raise _Refusal("IdempotentParameterMismatch", "the token was used with other parameters")
        if is_new:
            self._start_thread(run)
        self._lose_answer(instance_id, conduct)
        return {"AutomationExecutionId": run.execution_id}

    def _admit(self, instance_id: str) -> Conduct:
        with self._lock:
            self.start_requests += 1
            conduct = self._conducts.get(instance_id, Conduct())
            refused = self._refused.get(instance_id, 0)
            self._refused[instance_id] = refused + 1
        if refused < len(conduct.refusals):
            raise _Refusal(conduct.refusals[refused], "scripted")
        return conduct

    def _lose_answer(self, instance_id: str, conduct: Conduct) -> None:
        with self._lock:
            self._lost[instance_id] = self._lost.get(instance_id, 0) + 1
            if self._lost[instance_id] <= conduct.lost_answers:
                raise AnswerLost

    def _get(self, asked: Json, region: str) -> Json:
        return {"AutomationExecution": _described(self._found(asked, region))}

    def _stop(self, asked: Json, region: str) -> Json:
        run = self._found(asked, region)
        self.executions.change(run.execution_id, lambda run: replace(run, status="Cancelling"))
        return {}

    def _describe(self, _asked: Json, region: str) -> Json:
        runs = [_described(run) for run in self.executions.all() if run.region == region]
        return {"AutomationExecutionMetadataList": runs}

    def _found(self, asked: Json, region: str) -> AutomationRun:
        run = self.executions.find(asked["AutomationExecutionId"], region)
        if run is None:
            raise _Refusal("AutomationExecutionNotFoundException", "there is no such execution")
        return run

    def _start_thread(self, run: AutomationRun) -> None:
        thread = threading.Thread(target=self._carry_out, args=(run,), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _carry_out(self, run: AutomationRun) -> None:
        conduct = self._conducts.get(run.instance_id, Conduct())
        for number in range(len(STEPS)):
            self._move(run, number, "InProgress")
            if self._is_cancelled(run, number, conduct):
                return
            if number == 0 and self.fleet.find(run.instance_id) is None:
                self._end(run, number, "Failed", "the instance is not managed by Systems Manager")
                return
            if number == 1 and conduct.ends != "Success":
                self._end(run, number, conduct.ends, conduct.failure)
                return
            self._move(run, number, "Success")
        self._deliver(run)

    def _is_cancelled(self, run: AutomationRun, number: int, conduct: Conduct) -> bool:
        """Waits out a step; True when the execution, or the simulator, was stopped meanwhile."""
        deadline = time.monotonic() + conduct.step_seconds
        while conduct.is_hanging or time.monotonic() < deadline:
            current = self.executions.find(run.execution_id, run.region)
            if current is not None and current.status == "Cancelling":
                self._end(run, number, "Cancelled", None)
                return True
            if self._stopping.wait(min(0.02, conduct.step_seconds or 0.02)):
                return True
        return self._stopping.is_set()

    def _deliver(self, run: AutomationRun) -> None:
        node = self.fleet.find(run.instance_id)
        if node is None:
            return
        bucket, key = run.parameters["LogDestination"][0], archive_key(run.instance_id)
        self.upload(bucket, key, archive_of(node))
        self.executions.change(run.execution_id, lambda run: replace(run, status="Success", archive_key=key))
        if self.on_upload is not None:
            try:
                self.on_upload(bucket, key)
            except Exception as error:  # noqa: BLE001 - a door: in AWS a failing consumer does not fail the automation
                self.hook_failures.append(error)

    def _move(self, run: AutomationRun, number: int, status: str) -> None:
        def change(run: AutomationRun) -> AutomationRun:
            steps = (*run.steps[:number], status, *run.steps[number + 1 :])
            return replace(run, steps=steps, status="InProgress" if run.status == "Pending" else run.status)

        self.executions.change(run.execution_id, change)

    def _end(self, run: AutomationRun, number: int, status: str, failure: str | None) -> None:
        self._move(run, number, status)
        self.executions.change(run.execution_id, lambda run: replace(run, status=status, failure=failure))


def archive_key(instance_id: str) -> str:
    return f"eks_{instance_id}/{instance_id}_eks-log-collector.tar.gz"


def _checked(asked: Json, parameters: dict[str, list[str]]) -> tuple[str, str | None]:
    if asked.get("DocumentName") != RUNBOOK:
        raise _Refusal("AutomationDefinitionNotFoundException", f"only {RUNBOOK} is known here")
    unknown = set(parameters) - {"EKSInstanceId", "LogDestination", "AutomationAssumeRole"}
    instance_id = (parameters.get("EKSInstanceId") or [""])[0]
    if unknown or not _INSTANCE.fullmatch(instance_id) or not parameters.get("LogDestination"):
        raise _Refusal("InvalidAutomationExecutionParametersException", "EKSInstanceId and LogDestination are needed")
    token = asked.get("ClientToken")
    if token is not None and not _TOKEN.fullmatch(token):
        raise _Refusal("ValidationException", "ClientToken is no UUID")
    return instance_id, token


def _described(run: AutomationRun) -> Json:
    described: Json = {
        "AutomationExecutionId": run.execution_id,
        "DocumentName": run.document,
        "AutomationExecutionStatus": run.status,
        "ExecutionStartTime": run.started,
        "Parameters": run.parameters,
        "StepExecutions": [
            {"StepName": name, "Action": "aws:runCommand", "StepStatus": status}
            for name, status in zip(STEPS, run.steps, strict=True)
        ],
        "Outputs": {"UploadLogs.Key": [run.archive_key]} if run.archive_key else {},
    }
    optional = {"ExecutionEndTime": run.ended, "FailureMessage": run.failure}
    return described | {name: value for name, value in optional.items() if value is not None}


def _json(status: int, body: Json) -> GatewayAnswer:
    return GatewayAnswer(
        status=status, body=json.dumps(body).encode(), headers={"Content-Type": "application/x-amz-json-1.1"}
    )
