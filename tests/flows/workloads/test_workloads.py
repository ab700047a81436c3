"""Broken on purpose on the emulator, asked through real boto3 calls: the questions show what is wrong."""

import json
import time
from typing import Any

import pytest
from tests.support.investigations.workload_account import ACCOUNT, Stage

from affidavit.chaos.fault_planning import plan_network, plan_revoke, plan_throttle
from affidavit.chaos.inject_and_restore import inject, restore
from affidavit.chaos.injectable_faults import InjectedFault, NetworkMethod, RevokeTarget
from affidavit.ports.clock import SystemClock
from affidavit.ports.table import Table
from affidavit.sandbox.account.function_account import package
from affidavit.workloads.wire import TOOL_RESPONSE_SCHEMAS

FUNCTION = "data-processor"


class Broken:
    """A fault in force while entered."""

    def __init__(self, here: Stage, table: Table, fault: InjectedFault, changes: Any) -> None:
        self._here, self._table, self._fault, self._changes = here, table, fault, changes

    def __enter__(self) -> None:
        inject(
            self._here.target(),
            self._table,
            SystemClock(),
            function=FUNCTION,
            fault=self._fault,
            changes=self._changes,
            accounts=frozenset({ACCOUNT}),
        )

    def __exit__(self, *_: object) -> None:
        restore(self._here.target(), self._table, function=FUNCTION, fault=self._fault)


def revoked(here: Stage, table: Table, what: RevokeTarget) -> Broken:
    return Broken(here, table, InjectedFault.IAM, plan_revoke(here.target(), FUNCTION, what))


def throttled(here: Stage, table: Table, to: int) -> Broken:
    return Broken(here, table, InjectedFault.THROTTLE, plan_throttle(here.target(), FUNCTION, to))


def messages_since(here: Stage, moment: float) -> str:
    """What the function logged after `moment`, once it is there."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        events = here.ask("get_recent_logs")["events"]
        found = [event["message"] for event in events if event["timestamp"] >= stamp(moment)]
        if any(message.startswith("REPORT") for message in found):
            return "\n".join(found)
        time.sleep(0.2)
    raise AssertionError("the run left no REPORT line")


def stamp(moment: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment)) + ".000Z"


def failing_run(here: Stage) -> tuple[str, str]:
    """The error the caller got, and the log of the run."""
    time.sleep(1.1)  # so that whole seconds tell this run's lines from those before
    started = time.time()
    failed = here.invoke()
    assert failed["FunctionError"] == "Unhandled"
    return failed["Payload"].read().decode(), messages_since(here, started)


def test_a_healthy_function_answers_every_question_and_leaks_no_value(here: Stage) -> None:
    assert "FunctionError" not in here.invoke()
    for tool, schema in TOOL_RESPONSE_SCHEMAS.items():
        answer = here.ask(tool)
        assert "error" not in answer
        schema.model_validate(answer)
        assert "data-processor-input" not in json.dumps(answer.get("EnvironmentVariableNames", []))
    assert "data-processor-input" not in json.dumps(here.ask("get_lambda_config"))


def test_s3_revoked_the_log_names_the_action_and_the_policy_is_gone(here: Stage, table: Table) -> None:
    with revoked(here, table, RevokeTarget.S3):
        _, log = failing_run(here)
        policies = here.ask("get_iam_state")["inline_policies"]
    assert "not authorized to perform: s3:GetObject" in log
    assert "s3-read" not in policies
    assert "cloudwatch-write" in policies


def test_cloudwatch_revoked_the_simulator_confirms_the_denial(here: Stage, table: Table) -> None:
    with revoked(here, table, RevokeTarget.CLOUDWATCH):
        _, log = failing_run(here)
        state = here.ask("get_iam_state")
    assert "cloudwatch:PutMetricData" in log
    decisions = {entry["action"]: entry["decision"] for entry in state["simulated_decisions"]}
    assert decisions["cloudwatch:PutMetricData"] == "implicitDeny"


def test_both_revoked_both_policies_are_missing(here: Stage, table: Table) -> None:
    with revoked(here, table, RevokeTarget.BOTH):
        policies = here.ask("get_iam_state")["inline_policies"]
    assert sorted(policies) == ["logs-write", "sns-publish"]


def test_at_concurrency_0_no_run_starts_and_the_throttles_are_counted(here: Stage, table: Table) -> None:
    with throttled(here, table, 0):
        with pytest.raises(here.client("lambda").exceptions.ClientError, match="TooManyRequests"):
            here.invoke()
        config = here.ask("get_lambda_config")
    assert config["ReservedConcurrentExecutions"] == 0
    assert config["Metrics"]["throttles"] >= 1


def test_at_concurrency_1_the_configuration_says_1(here: Stage, table: Table) -> None:
    with throttled(here, table, 1):
        assert "FunctionError" not in here.invoke()
        assert here.ask("get_lambda_config")["ReservedConcurrentExecutions"] == 1


@pytest.mark.parametrize("method", list(NetworkMethod))
def test_a_blocked_network_times_out_in_the_log_and_shows_in_the_state(
    here: Stage, table: Table, method: NetworkMethod
) -> None:
    with Broken(here, table, InjectedFault.NETWORK, plan_network(here.target(), FUNCTION, method)):
        here.wait_for_gate(shut=True)
        _, log = failing_run(here)
        state = here.ask("get_network_state")
    assert "Connect timeout on endpoint URL" in log
    if method is NetworkMethod.EGRESS:
        assert state["security_groups"][0]["egress"] == []
    else:
        assert state["subnets"][0]["nacl_rules"][0]["action"] == "deny"
    here.wait_for_gate(shut=False)
    assert "FunctionError" not in here.invoke()


def test_two_faults_at_once_both_show(here: Stage, table: Table) -> None:
    with revoked(here, table, RevokeTarget.S3), throttled(here, table, 1):
        _, log = failing_run(here)
        config, state = here.ask("get_lambda_config"), here.ask("get_iam_state")
    assert "s3:GetObject" in log
    assert config["ReservedConcurrentExecutions"] == 1
    assert "s3-read" not in state["inline_policies"]


def test_a_failure_is_published_to_the_topic_as_an_alert_that_names_the_function(here: Stage, table: Table) -> None:
    queue = here.client("sqs").create_queue(QueueName="alerts")["QueueUrl"]
    arn = here.client("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": arn}],
    }
    here.client("sqs").set_queue_attributes(QueueUrl=queue, Attributes={"Policy": json.dumps(policy)})
    here.client("sns").subscribe(TopicArn=here.seeded.topic_arn, Protocol="sqs", Endpoint=arn)
    with revoked(here, table, RevokeTarget.S3):
        failing_run(here)
    received = here.client("sqs").receive_message(QueueUrl=queue, WaitTimeSeconds=5)["Messages"]
    report = json.loads(json.loads(received[0]["Body"])["Message"])
    assert report["function_name"] == FUNCTION
    assert report["incident_id"] == f"{FUNCTION}-{report['request_id']}"
    assert "s3:GetObject" in report["error_message"]


def test_another_function_is_refused_and_a_missing_one_is_an_error(here: Stage) -> None:
    outside = here.workloads().answer("get_recent_logs", {"lambda_name": "billing-export"})
    assert outside["error"] == "billing-export is not part of this incident"
    unscoped = here.unscoped().answer("get_lambda_config", {"lambda_name": "nobody"})
    assert "nobody" in unscoped["error"]
    assert "events" not in unscoped


def test_a_function_that_never_ran_has_no_log_group_and_that_is_an_error_not_silence(here: Stage) -> None:
    role = here.client("iam").get_role(RoleName=here.seeded.role)["Role"]["Arn"]
    here.client("lambda").create_function(
        FunctionName="idle", Runtime="python3.12", Handler="handler.handler", Role=role, Code={"ZipFile": package()}
    )
    answer = here.unscoped().answer("get_recent_logs", {"lambda_name": "idle"})
    assert set(answer) == {"error", "hint"}


def test_who_changed_the_role_and_the_concurrency_is_told_with_the_call(here: Stage, table: Table) -> None:
    with revoked(here, table, RevokeTarget.S3):
        told = here.ask("get_recent_changes")
    gone = next(one for one in told["changes"] if one["event_name"] == "DeleteRolePolicy")
    assert gone["resource"] == here.seeded.role and gone["request"]["PolicyName"] == "s3-read"
    # The owner's name, as AWS tells it: an access key would be hidden wherever this is shown.
    assert gone["principal"] == "arn:aws:iam::000000000000:root" and gone["read_only"] is False
    with throttled(here, table, 0):
        told = here.ask("get_recent_changes")
    throttling = next(one for one in told["changes"] if one["event_name"] == "PutFunctionConcurrency")
    assert throttling["resource"] == FUNCTION and throttling["request"]["reservedConcurrentExecutions"] == 0
    assert told["is_complete"] is True and not told["not_read"]


def test_a_closed_security_group_is_told_with_the_group(here: Stage, table: Table) -> None:
    plan = plan_network(here.target(), FUNCTION, NetworkMethod.EGRESS)
    with Broken(here, table, InjectedFault.NETWORK, plan):
        told = here.ask("get_recent_changes")
    closing = next(one for one in told["changes"] if one["event_name"] == "RevokeSecurityGroupEgress")
    assert closing["resource"] == here.seeded.network.group_id
