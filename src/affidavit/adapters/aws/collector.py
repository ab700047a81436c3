"""Asks a node for its bundle through SSM Automation."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.error_translation import translated
from affidavit.errors import NotFound
from affidavit.ports.node_collector import Execution, Step

RUNBOOK = "AWSSupport-CollectEKSInstanceLogs"


class SsmNodeCollector:
    """The archive lands in `bucket`. The service starts one execution per client token, which must be a UUID.

    With `role_arn` the runbook works by that role, and the caller needs no permission on nodes.
    """

    def __init__(self, clients: AwsClients, bucket: str, *, role_arn: str = "") -> None:
        self._clients, self._bucket, self._role_arn = clients, bucket, role_arn

    def start(self, instance_id: str, *, region: str, client_token: str) -> str:
        with translated(f"collection of {instance_id}"):
            answer = self._ssm(region).start_automation_execution(
                DocumentName=RUNBOOK,
                Parameters=self._parameters(instance_id),
                ClientToken=client_token,
            )
        return answer["AutomationExecutionId"]

    def _parameters(self, instance_id: str) -> dict[str, list[str]]:
        needed = {"EKSInstanceId": [instance_id], "LogDestination": [self._bucket]}
        return needed | ({"AutomationAssumeRole": [self._role_arn]} if self._role_arn else {})

    def find(self, execution_id: str, *, region: str) -> Execution | None:
        try:
            with translated(f"execution {execution_id}"):
                answer = self._ssm(region).get_automation_execution(AutomationExecutionId=execution_id)
        except NotFound:
            return None
        return _execution(answer["AutomationExecution"])

    def stop(self, execution_id: str, *, region: str) -> None:
        with translated(f"execution {execution_id}"):
            self._ssm(region).stop_automation_execution(AutomationExecutionId=execution_id, Type="Cancel")

    def _ssm(self, region: str) -> Any:
        return self._clients.client("ssm", region=region)


def _execution(answer: dict[str, Any]) -> Execution:
    steps = answer.get("StepExecutions", ())
    return Execution(
        execution_id=answer["AutomationExecutionId"],
        instance_id=next(iter(answer.get("Parameters", {}).get("EKSInstanceId", ())), ""),
        status=answer["AutomationExecutionStatus"],
        started=_utc(answer.get("ExecutionStartTime")),
        ended=_utc(answer.get("ExecutionEndTime")),
        steps=tuple(Step(name=step["StepName"], status=step["StepStatus"]) for step in steps),
        failure=answer.get("FailureMessage"),
        archive_key=next(_archive_keys(answer.get("Outputs", {})), None),
    )


def _archive_keys(outputs: dict[str, list[str]]) -> Iterator[str]:
    """An output may be a key, or an S3 address of one."""
    for value in (value for values in outputs.values() for value in values):
        if value.endswith((".tar.gz", ".zip")):
            yield value.removeprefix("s3://").partition("/")[2] if value.startswith("s3://") else value


def _utc(time: datetime | None) -> datetime | None:
    return time.astimezone(UTC) if time is not None else None
