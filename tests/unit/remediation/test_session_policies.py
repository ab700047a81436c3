# ruff: noqa: E501 - a table: one type a line
"""For every type of action: the credential of an approved plan opens its own calls, and no other of the catalog."""

import pytest
from tests.support.repairing.repaired_function import executor_role

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.remediation.least_privilege_calls import AssumedRoleDoor, session_policy
from affidavit.errors import InputRefused, UpstreamFailed
from affidavit.ports.aws_reads_and_changes import ApiCall, Grant
from affidavit.ports.json import Item
from affidavit.remediation.actions.action_type import Aim
from affidavit.remediation.actions.catalog import action_type, catalog
from affidavit.sandbox.sandbox import Sandbox

HERE = "ca-central-1:000000000000"
FUNCTION, ROLE = f"arn:aws:lambda:{HERE}:function:orders", "arn:aws:iam::000000000000:role/orders"
POLICY, QUEUE = "arn:aws:iam::000000000000:policy/orders", f"arn:aws:sqs:{HERE}:orders"
NODE = f"arn:aws:ec2:{HERE}:instance/i-0a11ce0000000001"
GROUP = f"arn:aws:autoscaling:{HERE}:autoScalingGroup:1:autoScalingGroupName/workers"
RULE = {"IpProtocol": "tcp", "FromPort": 9, "ToPort": 9, "IpRanges": [{"CidrIp": "10.0.0.0/8"}]}
ENTRY, PLACE = {"Protocol": "-1", "RuleAction": "deny", "CidrBlock": "0.0.0.0/0"}, {"number": 7, "egress": True}
GRANT = {"Action": "lambda:InvokeFunction", "Principal": "s3.amazonaws.com"}
WAY = {"destination": {"DestinationCidrBlock": "10.99.0.0/16"}}
COMMAND = {"instance_id": "i-0a11ce0000000001", "instance_arn": NODE, "version": "1", "hash": "0" * 64}
DOCUMENT: Item = {"Version": "2012-10-17", "Statement": []}
# A target of each type, and arguments for each call that it can make.
AIMS: dict[str, tuple[str, list[Item]]] = {
    "lambda.concurrency.restore": (FUNCTION, [{"reserved": 5}, {"reserved": None}]),
    "lambda.configuration.restore": (FUNCTION, [{"path": "Timeout", "value": 9}, {"path": "Environment", "value": "1"}]),
    "lambda.alias.rollback": (f"{FUNCTION}:live", [{"version": "1"}]),
    "lambda.permission.restore": (FUNCTION, [{"sid": "s", "grant": GRANT}, {"sid": "s", "grant": None}]),
    "lambda.event_source.enable": (f"arn:aws:lambda:{HERE}:event-source-mapping:00000000-0000-0000-0000-000000000000", [{"enabled": True}]),
    "iam.inline_policy.restore": (ROLE, [{"policy": "p", "document": DOCUMENT}, {"policy": "p", "document": None}]),
    "iam.attachment.restore": (ROLE, [{"policy_arn": POLICY, "is_attached": one} for one in (True, False)]),
    "iam.policy_version.set_default": (POLICY, [{"version_id": "v1"}]),
    "ec2.egress.restore": (f"arn:aws:ec2:{HERE}:security-group/sg-1", [{"rule": RULE, "is_there": True}, {"rule": RULE, "is_there": False}]),
    "ec2.acl_entry.restore": (f"arn:aws:ec2:{HERE}:network-acl/acl-1", [{**PLACE, "entry": ENTRY, "replaces": True}, {**PLACE, "entry": ENTRY, "replaces": False}, {**PLACE, "entry": None, "replaces": True}]),
    "ec2.route.restore": (f"arn:aws:ec2:{HERE}:route-table/rtb-1", [{**WAY, "via": {"GatewayId": "igw-1"}, "replaces": True}, {**WAY, "via": {"GatewayId": "igw-1"}, "replaces": False}, {**WAY, "via": None, "replaces": True}]),
    "kms.key.enable": (f"arn:aws:kms:{HERE}:key/1-2", [{"is_enabled": True}, {"is_enabled": False}]),
    "sqs.redrive": (f"{QUEUE}-dead", [{"destination": QUEUE, "per_second": 10}]),
    "node.service.restart": (NODE, [{**COMMAND, "operation": "restart-kubelet"}]),
    "node.images.prune": (NODE, [{**COMMAND, "operation": "prune-images"}]),
    "node.reboot": (GROUP, [{**COMMAND, "operation": "reboot"}]),
    "node.replace": (GROUP, [{"instance_id": COMMAND["instance_id"], "instance_arn": NODE}]),
}  # fmt: skip


def calls_of(name: str) -> list[ApiCall]:
    target, arguments = AIMS[name]
    aims = [Aim(target=target, arguments=one) for one in arguments]
    return [call for aim in aims for call in action_type(name).calls(aim, None)]


def test_every_other_call_of_the_catalog_is_denied_to_the_credential_of_each_type(
    sandbox: Sandbox, aws_environment: dict[str, str]
) -> None:
    assert set(AIMS) == set(catalog())
    door = AssumedRoleDoor(AwsClients(sandbox.region), executor_role(sandbox))
    every = {call.action: call for name in AIMS for call in calls_of(name)}
    denied = 0
    for name in AIMS:
        own = tuple(calls_of(name))
        held = door.open(Grant(calls=own, source_identity="alice", session_name="plan-1"))
        for action, call in every.items():
            if action not in {one.action for one in own}:
                with pytest.raises(UpstreamFailed, match="may not call"):
                    held.call(call)
                denied += 1
    assert (len(AIMS), len(every), denied) == (17, 25, 398)


@pytest.mark.parametrize("name", ["orders*", "order?", "${aws:username}"])
def test_a_name_that_iam_reads_as_a_pattern_gets_no_credential(name: str) -> None:
    calls = action_type("lambda.concurrency.restore").calls(
        Aim(target=f"arn:aws:lambda:{HERE}:function:{name}", arguments={"reserved": 5}), None
    )
    with pytest.raises(InputRefused, match="more than one thing"):
        session_policy(calls)
