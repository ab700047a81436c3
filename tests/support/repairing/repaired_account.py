"""A function with a role, a policy, a key and a network of its own in the sandbox, and ways to break each."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.remediation.state_reader import AwsStateReader
from affidavit.adapters.aws.workload.state_inspector import AwsStateInspector
from affidavit.known_good.function_state_reading import read_state
from affidavit.ports.argument_sources import SourceDocument, SourceKind
from affidavit.remediation.actions.action_type import Aim
from affidavit.remediation.actions.catalog import action_type
from affidavit.sandbox.account.function_account import package
from affidavit.sandbox.sandbox import Sandbox
from tests.support.repairing.remediation import a_document, a_subject
from tests.support.repairing.repaired_function import TRUST

READ = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}]}
ANYWHERE = {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
DENY = {"Protocol": "-1", "RuleAction": "deny", "CidrBlock": "0.0.0.0/0"}


@dataclass(frozen=True, kw_only=True)
class Made:
    """A function with a role, a policy, a key and a network of its own."""

    sandbox: Sandbox
    reader: AwsStateReader
    name: str
    role: str
    policy: str
    key: str
    group: str
    acl: str
    table: str
    gateways: tuple[str, ...]

    def client(self, service: str) -> Any:
        return self.sandbox.client(service)

    def baseline(self) -> SourceDocument:
        inspector = AwsStateInspector(AwsClients(self.sandbox.region))
        state = read_state(inspector, self.name, digest_key=b"k" * 32)
        assert state.why_not_read == {}
        return a_document(SourceKind.BASELINE, json.loads(state.data))

    def arn(self, kind: str, name: str) -> str:
        return f"arn:aws:ec2:{self.sandbox.region}:000000000000:{kind}/{name}"

    def make(self, type_name: str, aim: Aim) -> None:
        for call in action_type(type_name).calls(aim, None):
            if call.parameters.get("DryRun") is not True:
                getattr(self.client(call.service), call.operation)(**call.parameters)

    def aims(self, type_name: str, said: SourceDocument) -> list[Aim]:
        return list(action_type(type_name).aims(a_subject(self.name), said, self.reader))


def make_account(sandbox: Sandbox) -> Made:
    iam, ec2 = sandbox.client("iam"), sandbox.client("ec2")
    name = f"repaired-{uuid4().hex[:8]}"
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"]
    policy = iam.create_policy(PolicyName=name, PolicyDocument=json.dumps(READ))["Policy"]["Arn"]
    for _ in range(3):
        iam.create_policy_version(PolicyArn=policy, PolicyDocument=json.dumps(READ), SetAsDefault=False)
    iam.attach_role_policy(RoleName=name, PolicyArn=policy)
    iam.put_role_policy(RoleName=name, PolicyName="read", PolicyDocument=json.dumps(READ))
    key = sandbox.client("kms").create_key()["KeyMetadata"]["Arn"]
    vpc = ec2.create_vpc(CidrBlock="10.30.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.30.1.0/24")["Subnet"]["SubnetId"]
    gateways = tuple(ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"] for _ in range(2))
    ec2.attach_internet_gateway(InternetGatewayId=gateways[0], VpcId=vpc)
    table = ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateways[0])
    ec2.associate_route_table(RouteTableId=table, SubnetId=subnet)
    group = ec2.create_security_group(GroupName=name, Description="of a test", VpcId=vpc)["GroupId"]
    acls = ec2.describe_network_acls(Filters=[{"Name": "vpc-id", "Values": [vpc]}])["NetworkAcls"]
    sandbox.client("lambda").create_function(
        FunctionName=name,
        Runtime="python3.12",
        Handler="handler.handler",
        Role=role,
        Code={"ZipFile": package()},
        KMSKeyArn=key,
        VpcConfig={"SubnetIds": [subnet], "SecurityGroupIds": [group]},
    )
    return Made(
        sandbox=sandbox,
        reader=AwsStateReader(AwsClients(sandbox.region)),
        name=name,
        role=role,
        policy=policy,
        key=key,
        group=group,
        acl=acls[0]["NetworkAclId"],
        table=table,
        gateways=gateways,
    )


def lose_policy(made: Made) -> None:
    made.client("iam").delete_role_policy(RoleName=made.name, PolicyName="read")


def detach(made: Made) -> None:
    made.client("iam").detach_role_policy(RoleName=made.name, PolicyArn=made.policy)


def other_version(made: Made) -> None:
    made.client("iam").set_default_policy_version(PolicyArn=made.policy, VersionId="v2")


def close_group(made: Made) -> None:
    made.client("ec2").revoke_security_group_egress(GroupId=made.group, IpPermissions=[ANYWHERE])


def block(made: Made) -> None:
    made.client("ec2").create_network_acl_entry(NetworkAclId=made.acl, RuleNumber=1, Egress=True, **DENY)


def unblock(made: Made) -> None:
    made.client("ec2").replace_network_acl_entry(NetworkAclId=made.acl, RuleNumber=100, Egress=True, **DENY)


def lose_route(made: Made) -> None:
    made.client("ec2").delete_route(RouteTableId=made.table, DestinationCidrBlock="0.0.0.0/0")


def lead_astray(made: Made) -> None:
    made.client("ec2").replace_route(
        RouteTableId=made.table, DestinationCidrBlock="0.0.0.0/0", GatewayId=made.gateways[1]
    )


def disable(made: Made) -> None:
    made.client("kms").disable_key(KeyId=made.key)


FAULTS: list[tuple[str, Callable[[Made], None]]] = [
    ("iam.inline_policy.restore", lose_policy),
    ("iam.attachment.restore", detach),
    ("iam.policy_version.set_default", other_version),
    ("ec2.egress.restore", close_group),
    ("ec2.acl_entry.restore", block),
    ("ec2.acl_entry.restore", unblock),
    ("ec2.route.restore", lose_route),
    ("ec2.route.restore", lead_astray),
    ("kms.key.enable", disable),
]
