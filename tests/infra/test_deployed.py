"""The deployment as a stranger would have it: templates, packages, and an account that checks every permission."""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.workload.fault_injection_calls import AwsFaultTarget
from affidavit.chaos.fault_planning import plan_revoke
from affidavit.chaos.injectable_faults import RevokeTarget
from affidavit.sandbox.account.node_archives import archive_of
from affidavit.sandbox.account.nodes import FleetNode
from tests.infra.conftest import ROOT
from tests.infra.deployed import NODE_ROLE, REGION, Deployed, deployed, eventually

pytestmark = pytest.mark.slow

OOM = FleetNode(instance_id="i-0de0a0ed000000a1", faults=("oom",))


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory, assembly: Path, packages: Path) -> Iterator[Deployed]:
    with deployed(tmp_path_factory.mktemp("deployed"), assembly, packages) as running:
        yield running


def upload(aws: Deployed, key: str, data: bytes) -> None:
    aws.client("s3").put_object(Bucket=aws.bucket, Key=key, Body=data)


def archive_key(node: FleetNode) -> str:
    return f"eks_{node.instance_id}/{node.instance_id}_eks-log-collector.tar.gz"


def test_a_plan_for_an_empty_account_says_that_all_is_new_and_makes_nothing(aws: Deployed) -> None:
    assert [each.stack for each in aws.first_plan][:2] == ["AffidavitStorage", "AffidavitState"]
    assert all(each.is_new for each in aws.first_plan)
    assert len(aws.first_plan[0].changes) > 5
    assert aws.left_by_plan == []


def test_an_uploaded_bundle_becomes_an_index_and_rows_of_the_fleet(aws: Deployed) -> None:
    upload(aws, archive_key(OOM), archive_of(OOM))
    marked = eventually(lambda: aws.keys(f"eks_{OOM.instance_id}/metadata/indexes/"))
    assert len(marked) == 1, aws.log_of("affidavit-indexer")
    index = json.loads(
        aws.client("s3").get_object(Bucket=aws.bucket, Key=f"eks_{OOM.instance_id}/findings_index.json")["Body"].read()
    )
    assert "high" in {finding["severity"] for finding in index["findings"]}
    assert eventually(lambda: [key for key in aws.keys("fleet/nodes/") if OOM.instance_id in key])


def test_a_node_brings_its_archive_with_its_own_role_and_touches_nothing_else(aws: Deployed) -> None:
    node = FleetNode(instance_id="i-0de0a0ed000000b2", faults=())
    s3 = _as_a_node(aws)
    # As the collector of the AMI names it: at the top of the bucket.
    s3.put_object(
        Bucket=aws.bucket, Key=f"eks_{node.instance_id}_2026-01-15_1030-UTC_0.7.9.tar.gz", Body=archive_of(node)
    )
    assert eventually(lambda: aws.keys(f"eks_{node.instance_id}/metadata/indexes/")), aws.log_of("affidavit-indexer")
    assert s3.get_bucket_acl(Bucket=aws.bucket)["Owner"]
    evidence = [key for key in aws.keys(f"eks_{node.instance_id}/") if not key.endswith(".tar.gz")]
    assert evidence
    forbidden = [*evidence, f"eks_{OOM.instance_id}/extracted/var_log/old.tar.gz", "fleet/nodes/x.tar.gz"]
    for key in forbidden:
        with pytest.raises(ClientError) as refused:
            s3.put_object(Bucket=aws.bucket, Key=key, Body=b"forged")
        assert refused.value.response["Error"]["Code"] == "AccessDenied", key
    for reading in (
        lambda: s3.get_object(Bucket=aws.bucket, Key=evidence[0]),
        lambda: s3.list_objects_v2(Bucket=aws.bucket),
    ):
        with pytest.raises(ClientError):
            reading()


def _as_a_node(aws: Deployed) -> Any:
    """A role that no policy of its own allows anything."""
    trust = {"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::000000000000:root"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    aws.client("iam").create_role(RoleName=NODE_ROLE.rpartition("/")[2], AssumeRolePolicyDocument=document)
    given = aws.client("sts").assume_role(RoleArn=NODE_ROLE, RoleSessionName="i-0de0a0ed000000b2")["Credentials"]
    return boto3.client(
        "s3",
        region_name=REGION,
        endpoint_url=aws.account.url,
        aws_access_key_id=given["AccessKeyId"],
        aws_secret_access_key=given["SecretAccessKey"],
        aws_session_token=given["SessionToken"],
    )


def test_a_poison_archive_lies_among_the_dead_letters_with_its_reason(aws: Deployed) -> None:
    key = "eks_i-0bad0bad0bad0bad0/i-0bad0bad0bad0bad0_eks-log-collector.tar.gz"
    upload(aws, key, b"this is no archive at all")
    queue = aws.queue("affidavit-uploads-dead")

    def dead() -> list[dict[str, str]]:
        received = aws.client("sqs").receive_message(QueueUrl=queue, MessageAttributeNames=["All"], WaitTimeSeconds=1)
        said = [each["MessageAttributes"] for each in received.get("Messages", ())]
        return [{name: value["StringValue"] for name, value in each.items()} for each in said]

    (letter,) = eventually(dead)
    assert letter["source"] == key
    assert letter["kind"] == "InputRefused"
    assert letter["reason"]
    assert letter["hint"]


def test_the_mcp_server_asks_for_its_key_and_answers_from_the_index(aws: Deployed) -> None:
    upload(aws, archive_key(OOM), archive_of(OOM))
    assert eventually(lambda: aws.keys(f"eks_{OOM.instance_id}/metadata/indexes/"))
    url = _server_url(aws)
    assert json.loads(urllib.request.urlopen(url.replace("/mcp", "/health")).read())["status"] == "ok"
    with pytest.raises(urllib.error.HTTPError) as refused:
        _ask(url, "", "errors", {"instanceId": OOM.instance_id})
    assert refused.value.code == 401
    key = aws.client("ssm").get_parameter(Name="/incident-response/mcp-api-key", WithDecryption=True)
    answer = _ask(url, key["Parameter"]["Value"], "errors", {"instanceId": OOM.instance_id, "severity": "high"})
    assert answer["isError"] is False, answer
    assert answer["structuredContent"]["findings"]


def _server_url(aws: Deployed) -> str:
    found = aws.client("lambda").get_function_configuration(FunctionName="affidavit-supervisor")
    return found["Environment"]["Variables"]["MCP_SERVER_URL"]


def _ask(url: str, key: str, tool: str, arguments: dict[str, object]) -> dict[str, object]:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-11-25",
        "Authorization": f"Bearer {key}",
    }
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(call).encode(), headers), timeout=60) as said:
        return json.load(said)["result"]


@pytest.fixture
def mailbox(aws: Deployed) -> Iterator[str]:
    """A queue that is told what people are told."""
    sqs, sns = aws.client("sqs"), aws.client("sns")
    topic = f"arn:aws:sns:{REGION}:000000000000:affidavit-people"
    url = sqs.create_queue(QueueName="a-mailbox")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    delivery = {"Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage"}
    policy = {"Version": "2012-10-17", "Statement": [{**delivery, "Resource": arn}]}
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": json.dumps(policy)})
    subscription = sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)["SubscriptionArn"]
    yield url
    sns.unsubscribe(SubscriptionArn=subscription)


def test_a_function_that_lost_a_permission_is_diagnosed_from_its_own_alert(aws: Deployed, mailbox: str) -> None:
    target = AwsFaultTarget(AwsClients(REGION))
    for change in plan_revoke(target, "affidavit-data-processor", RevokeTarget.S3):
        change.make(target)
    failed = aws.client("lambda").invoke(FunctionName="affidavit-data-processor", Payload=b"{}")
    assert failed["FunctionError"]
    dynamodb = aws.client("dynamodb")

    def diagnosed() -> list[dict[str, dict[str, str]]]:
        items = dynamodb.scan(TableName="incident-state")["Items"]
        return [item for item in items if item.get("status", {}).get("S") in ("DIAGNOSED", "FAILED", "ERROR")]

    (state,) = eventually(diagnosed)
    assert state["status"]["S"] == "DIAGNOSED", (state, aws.log_of("affidavit-supervisor")[-3000:])
    contexts = dynamodb.scan(TableName="incident-context")["Items"]
    assert "permission_loss" in json.dumps(contexts)

    def told() -> list[str]:
        received = aws.client("sqs").receive_message(QueueUrl=mailbox, MaxNumberOfMessages=10, WaitTimeSeconds=1)
        said = [json.loads(each["Body"])["Message"] for each in received.get("Messages", ())]
        # Alarms go to the same people.
        return [message for message in said if "permission" in message.lower()]

    assert eventually(told), aws.log_of("affidavit-supervisor")[-3000:]


def test_a_second_apply_changes_nothing(aws: Deployed) -> None:
    before = len(aws.said)
    aws.deployment.apply(key_parameter="/incident-response/mcp-api-key")
    assert {line.partition(": ")[2] for line in aws.said[before:]} == {"nothing to change"}


def test_the_doctor_says_what_is_missing_and_what_to_do(aws: Deployed) -> None:
    done = run("deploy", "doctor", CHAT_PROVIDER="offline")
    said = {line[8:].partition(":")[0]: line.split()[0] for line in done.stdout.splitlines() if line[0] != " "}
    assert said["credentials"] == said["stacks"] == said["server key"] == said["secrets"] == said["chat model"] == "ok"
    assert said["people"] == "fail", "nobody is subscribed"
    assert "aws sns subscribe" in done.stdout
    assert done.returncode == 1


def test_without_a_chat_model_the_doctor_does_not_call_it_well(aws: Deployed) -> None:
    done = run("deploy", "doctor", CHAT_PROVIDER="bedrock")
    assert "fail    chat model: none is named" in done.stdout


def test_a_webhook_with_a_stored_secret_becomes_an_incident_with_the_rights_of_its_function(aws: Deployed) -> None:
    aws.client("ssm").put_parameter(
        Name="/incident-response/hooks/HOOK_ALERTMANAGER_SECRET", Value="s" * 32, Type="SecureString"
    )
    alerts = [{"labels": {"alertname": "Errors", "function_name": "hooked"}}, {"labels": {"alertname": "Nothing"}}]
    http = {"method": "POST", "path": "/hooks/alertmanager", "sourceIp": "127.0.0.1"}
    event = {
        "rawPath": "/hooks/alertmanager",
        "requestContext": {"domainName": "x.on.aws", "http": http},
        "headers": {"host": "x.on.aws", "authorization": f"Bearer {'s' * 32}"},
        "body": json.dumps({"version": "4", "status": "firing", "alerts": alerts}),
    }
    aws.client("lambda").invoke(FunctionName="affidavit-hooks", Payload=json.dumps(event), InvocationType="Event")
    assert eventually(lambda: aws.keys("quarantine/")), aws.log_of("affidavit-hooks")
    rows = aws.client("dynamodb").scan(TableName="incident-state")["Items"]
    assert [row for row in rows if row["pk"]["S"].startswith("subject#") and "hooked" in row["pk"]["S"]]


def test_a_plan_names_what_would_change_and_leaves_nothing_behind(
    aws: Deployed, packages: Path, tmp_path: Path
) -> None:
    changed = json.loads((ROOT / "infra/templates/AffidavitState.template.json").read_text())
    changed["Resources"]["Extra"] = {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "extra"}}
    for name in ("AffidavitStorage", "AffidavitState"):
        (tmp_path / f"{name}.template.json").write_text(json.dumps(_deployed_template(aws, name)))
    (tmp_path / "AffidavitState.template.json").write_text(json.dumps(changed))
    done = run("deploy", "plan", "--templates", str(tmp_path), "--packages", str(packages))
    assert done.returncode == 0, done.stderr
    # The parameters that were chosen when it was made are not named again, and stay.
    assert "AffidavitStorage: nothing to change" in done.stdout
    assert "add     Extra (AWS::SNS::Topic)" in done.stdout
    topics = aws.client("sns").list_topics()["Topics"]
    assert not [each for each in topics if each["TopicArn"].endswith(":extra")]
    sets = aws.client("cloudformation").list_change_sets(StackName="AffidavitState")["Summaries"]
    assert [each for each in sets if each["ExecutionStatus"] == "AVAILABLE"] == []


def _deployed_template(aws: Deployed, stack: str) -> dict[str, object]:
    body = aws.client("cloudformation").get_template(StackName=stack)["TemplateBody"]
    return json.loads(body) if isinstance(body, str) else body


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["deploy", "apply", "--templates", "/nowhere"], "make synth"),
        (["deploy", "apply", "--with", "nothing"], "demo, agentcore"),
        (["deploy", "apply", "-p", "Nonsense=1"], "no stack has a parameter Nonsense"),
        (["deploy", "apply", "-p", "Nonsense"], "NAME=VALUE"),
    ],
)
def test_a_wish_that_cannot_be_met_is_refused_before_anything_is_made(
    arguments: list[str], complaint: str, aws: Deployed
) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert complaint in done.stderr


def test_what_is_deployed_can_be_taken_down_again(aws: Deployed) -> None:
    """The last test of this module: afterwards only what keeps data is left."""
    done = run("deploy", "destroy", "--yes", "--only", "demo")
    assert done.returncode == 0, done.stderr
    functions = {each["FunctionName"] for each in aws.client("lambda").list_functions()["Functions"]}
    assert "affidavit-data-processor" not in functions
    assert "affidavit-supervisor" in functions


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "affidavit", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120, check=False
    )
