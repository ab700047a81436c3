"""SSM remembers its executions across a restart of ours; so does the simulator that stands for it."""

import json
import time
import uuid
from pathlib import Path

from affidavit.sandbox.account.nodes import DEMO_NODES, Fleet
from affidavit.sandbox.aws.automation import RUNBOOK, Automation, Conduct
from affidavit.sandbox.aws.automation_executions import Executions
from affidavit.sandbox.aws.request_routing import GatewayAnswer, GatewayRequest

NODE = DEMO_NODES[0]
TOKEN = str(uuid.uuid4())


def an_automation(file: Path, uploads: list[str], conduct: Conduct | None = None) -> Automation:
    automation = Automation(
        fleet=Fleet(), upload=lambda _bucket, key, _data: uploads.append(key), executions=Executions(file)
    )
    automation.conduct(NODE.instance_id, conduct or Conduct())
    return automation


def asked(automation: Automation, operation: str, **body: object) -> dict[str, object]:
    signed = "AWS4-HMAC-SHA256 Credential=k/20260101/ca-central-1/ssm/aws4_request, Signature=s"
    answer = automation.answer(
        GatewayRequest(
            method="POST",
            path="/",
            headers={"x-amz-target": f"AmazonSSM.{operation}", "authorization": signed},
            body=json.dumps(body).encode(),
        )
    )
    assert isinstance(answer, GatewayAnswer)
    return json.loads(answer.body)


def started(automation: Automation, token: str = TOKEN) -> object:
    parameters = {"EKSInstanceId": [NODE.instance_id], "LogDestination": ["logs"]}
    found = asked(
        automation, "StartAutomationExecution", DocumentName=RUNBOOK, Parameters=parameters, ClientToken=token
    )
    return found["AutomationExecutionId"]


def wait_for_end(automation: Automation) -> str:
    for _ in range(1000):
        (run,) = automation.executions.all()
        if run.has_ended:
            return run.status
        time.sleep(0.02)
    raise AssertionError("it does not end")


def test_a_token_gives_the_same_execution_after_a_restart_and_the_work_goes_on(tmp_path: Path) -> None:
    uploads: list[str] = []
    before = an_automation(tmp_path / "executions.json", uploads, Conduct(is_hanging=True))
    execution_id = started(before)
    before.stop()

    after = an_automation(tmp_path / "executions.json", uploads)
    assert started(after) == execution_id
    assert uploads == []
    after.resume()
    assert wait_for_end(after) == "Success"
    assert uploads == [f"eks_{NODE.instance_id}/{NODE.instance_id}_eks-log-collector.tar.gz"]


def test_what_has_ended_is_not_done_again_after_a_restart(tmp_path: Path) -> None:
    uploads: list[str] = []
    before = an_automation(tmp_path / "executions.json", uploads)
    started(before)
    assert wait_for_end(before) == "Success"
    after = an_automation(tmp_path / "executions.json", uploads)
    after.resume()
    assert [run.status for run in after.executions.all()] == ["Success"]
    assert len(uploads) == 1


def test_a_hook_that_fails_does_not_fail_the_collection_and_is_remembered(tmp_path: Path) -> None:
    def fail(_bucket: str, _key: str) -> None:
        raise ValueError("not today")

    automation = an_automation(tmp_path / "executions.json", [])
    automation.on_upload = fail
    started(automation)
    assert wait_for_end(automation) == "Success"
    for _ in range(500):
        if automation.hook_failures:
            break
        time.sleep(0.01)
    assert [str(failure) for failure in automation.hook_failures] == ["not today"]


def test_another_runbook_and_a_wrong_instance_are_refused(tmp_path: Path) -> None:
    automation = an_automation(tmp_path / "executions.json", [])
    for document, instance in (("AWS-RunShellScript", NODE.instance_id), (RUNBOOK, "not-an-instance")):
        parameters = {"EKSInstanceId": [instance], "LogDestination": ["logs"]}
        refused = asked(automation, "StartAutomationExecution", DocumentName=document, Parameters=parameters)
        assert "__type" in refused
    assert automation.executions.all() == ()
