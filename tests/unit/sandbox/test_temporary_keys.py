"""A session policy holds for everything in the sandbox: what the emulator answers, and what simulators do."""

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import ClientError
from tests.support.repairing.repaired_function import executor_role

from affidavit.sandbox.access.keys import SandboxKeys
from affidavit.sandbox.sandbox import Sandbox

GROUP, INSTANCE = "sg-0123456789abcdef0", "i-0123456789abcdef0"
RULE = {"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
# Where the emulator itself answers, and where simulators do.
CALLS: list[tuple[str, str, dict[str, Any], str, str]] = [
    ("ec2", "describe_instances", {}, "ec2:DescribeInstances", "*"),
    (
        "ssm",
        "start_automation_execution",
        {"DocumentName": "AWSSupport-CollectEKSInstanceLogs", "Parameters": {}},
        "ssm:StartAutomationExecution",
        "arn:aws:ssm:*:automation-definition/AWSSupport-CollectEKSInstanceLogs:$DEFAULT",
    ),
    ("eks", "describe_cluster", {"name": "prod"}, "eks:DescribeCluster", "arn:aws:eks:*:cluster/prod"),
    (
        "autoscaling",
        "record_lifecycle_action_heartbeat",
        {"AutoScalingGroupName": "workers", "LifecycleHookName": "wait", "InstanceId": INSTANCE},
        "autoscaling:RecordLifecycleActionHeartbeat",
        "arn:aws:autoscaling:*:autoScalingGroupName/workers",
    ),
    (
        "ec2",
        "authorize_security_group_egress",
        {"GroupId": GROUP, "IpPermissions": [RULE]},
        "ec2:AuthorizeSecurityGroupEgress",
        f"arn:aws:ec2:*:security-group/{GROUP}",
    ),
]


def session_client(sandbox: Sandbox, service: str, *statements: tuple[str, str]) -> Any:
    """A client of the executor's role, which may do everything, under a policy of these statements."""
    allowed = [{"Effect": "Allow", "Action": action, "Resource": resource} for action, resource in statements]
    given = sandbox.client("sts").assume_role(
        RoleArn=executor_role(sandbox),
        RoleSessionName="plan-1",
        Policy=json.dumps({"Version": "2012-10-17", "Statement": allowed}),
    )["Credentials"]
    keys = SandboxKeys(access_key=given["AccessKeyId"], secret_key=given["SecretAccessKey"])
    return client_of(sandbox, service, keys, given["SessionToken"])


def client_of(sandbox: Sandbox, service: str, keys: SandboxKeys, token: str) -> Any:
    return boto3.client(
        service,
        region_name=sandbox.region,
        endpoint_url=sandbox.environment["AWS_ENDPOINT_URL_SSM"],
        aws_access_key_id=keys.access_key,
        aws_secret_access_key=keys.secret_key,
        aws_session_token=token,
    )


def outcome(client: Any, operation: str, arguments: dict[str, Any]) -> str:
    try:
        getattr(client, operation)(**arguments)
    except ClientError as error:
        return str(error.response["Error"]["Code"])
    return "done"


DENIED = {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"}


@pytest.mark.parametrize(("service", "operation", "arguments", "action", "resource"), CALLS, ids=[c[1] for c in CALLS])
def test_the_gateway_answers_a_session_as_far_as_its_policy_goes(
    sandbox: Sandbox, service: str, operation: str, arguments: dict[str, Any], action: str, resource: str
) -> None:
    mine = session_client(sandbox, service, (action, resource))
    owner = sandbox.client(service)
    assert outcome(mine, operation, arguments) == outcome(owner, operation, arguments)
    others = [(call[3], call[4]) for call in CALLS if call[3] != action]
    assert outcome(session_client(sandbox, service, *others), operation, arguments) in DENIED
    if resource != "*":
        elsewhere = (action, f"{resource}-of-somebody-else")
        assert outcome(session_client(sandbox, service, elsewhere), operation, arguments) in DENIED


def test_a_key_that_nobody_was_given_opens_nothing(sandbox: Sandbox) -> None:
    before = sandbox.automation.start_requests
    for service, operation, arguments, *_ in CALLS:
        stranger = client_of(sandbox, service, SandboxKeys.new(), "token")
        assert outcome(stranger, operation, arguments) in {"InvalidClientTokenId", "AuthFailure", "403"}
    assert sandbox.automation.start_requests == before


@pytest.mark.parametrize(
    ("service", "path", "headers"),
    [
        ("ec2", "/?Action=DescribeRegions&Version=2016-11-15", {}),
        ("ec2", "/", {"X-Amz-Target": "AmazonSSM.StartAutomationExecution"}),
    ],
    ids=["another action in the address", "another service in a header"],
)
def test_what_iam_is_asked_for_is_what_is_carried_out(
    sandbox: Sandbox, service: str, path: str, headers: dict[str, str]
) -> None:
    client = session_client(sandbox, service, ("ec2:DescribeRegions", "*"))
    url = sandbox.environment["AWS_ENDPOINT_URL_SSM"]
    form = {"Content-Type": "application/x-www-form-urlencoded", **headers}
    request = AWSRequest("POST", f"{url}{path}", form, b"Action=DescribeInstances&Version=2016-11-15")
    SigV4Auth(client._request_signer._credentials, service, sandbox.region).add_auth(request)
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(url).port, timeout=30)
    connection.request("POST", path, request.body, dict(request.headers.items()))
    assert connection.getresponse().status in (400, 403)
