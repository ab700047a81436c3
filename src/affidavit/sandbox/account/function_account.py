"""The account that incidents happen in: `data-processor`, its role, its bucket, its alarms and its own small VPC.

Everything carries the tag `affidavit:chaos = allowed`, without which chaos refuses to touch it.
"""

import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

FUNCTION = "data-processor"
ROLE = "data-processor-role"
INPUT_BUCKET = "data-processor-input"
INPUT_KEY = "input.json"
NAMESPACE = "DataProcessor"
ALERTS = "incident-alerts"
CHAOS_TAG = ("affidavit:chaos", "allowed")
TIMEOUT = 20
CODE = Path(__file__).parent / "data_processor" / "handler.py"
TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}


class Clients(Protocol):
    def client(self, service: str) -> Any: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Network:
    vpc_id: str
    subnet_id: str
    group_id: str
    route_table_id: str
    nacl_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SeededAccount:
    function: str
    function_arn: str
    role: str
    topic_arn: str
    bucket: str
    network: Network
    alarms: tuple[str, ...]


def seed_account(clients: Clients, *, region: str, gate_url: str | None = None) -> SeededAccount:
    """Make it all in an empty account. With a gate (`emulated_egress`), that is the function's only way out."""
    topic_arn = clients.client("sns").create_topic(Name=ALERTS)["TopicArn"]
    _bucket(clients, region)
    role_arn = _role(clients, topic_arn)
    network = _network(clients, region)
    function_arn = _function(clients, role_arn, topic_arn, network, gate_url)
    alarms = tuple(_alarm(clients, metric, topic_arn) for metric in ("Errors", "Throttles"))
    return SeededAccount(
        function=FUNCTION,
        function_arn=function_arn,
        role=ROLE,
        topic_arn=topic_arn,
        bucket=INPUT_BUCKET,
        network=network,
        alarms=alarms,
    )


def policies(topic_arn: str) -> dict[str, dict[str, Any]]:
    """The role's inline policies, by name: one a service, so that each can be taken away alone."""
    return {
        "s3-read": _allow("ReadInput", ["s3:GetObject"], f"arn:aws:s3:::{INPUT_BUCKET}/*"),
        "cloudwatch-write": _allow("WriteMetrics", ["cloudwatch:PutMetricData"], "*"),
        "sns-publish": _allow("PublishFailures", ["sns:Publish"], topic_arn),
        "logs-write": _allow("WriteLogs", ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"], "*"),
    }


def _allow(sid: str, actions: list[str], resource: str) -> dict[str, Any]:
    return {
        "Version": "2012-10-17",
        "Statement": [{"Sid": sid, "Effect": "Allow", "Action": actions, "Resource": resource}],
    }


def _bucket(clients: Clients, region: str) -> None:
    s3 = clients.client("s3")
    s3.create_bucket(Bucket=INPUT_BUCKET, CreateBucketConfiguration={"LocationConstraint": region})
    s3.put_object(Bucket=INPUT_BUCKET, Key=INPUT_KEY, Body=json.dumps([{"id": number} for number in range(12)]))


def _role(clients: Clients, topic_arn: str) -> str:
    iam = clients.client("iam")
    role = iam.create_role(RoleName=ROLE, AssumeRolePolicyDocument=json.dumps(TRUST), Tags=_tags())["Role"]
    for name, document in policies(topic_arn).items():
        iam.put_role_policy(RoleName=ROLE, PolicyName=name, PolicyDocument=json.dumps(document))
    return role["Arn"]


def _network(clients: Clients, region: str) -> Network:
    ec2 = clients.client("ec2")
    vpc_id = ec2.create_vpc(CidrBlock="10.20.0.0/16")["Vpc"]["VpcId"]
    zone = f"{region}a"
    subnet_id = ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.20.1.0/24", AvailabilityZone=zone)["Subnet"]["SubnetId"]
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc_id)
    table = ec2.create_route_table(VpcId=vpc_id)["RouteTable"]["RouteTableId"]
    ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway)
    ec2.associate_route_table(RouteTableId=table, SubnetId=subnet_id)
    group = ec2.create_security_group(GroupName=FUNCTION, Description="of data-processor", VpcId=vpc_id)["GroupId"]
    nacl = _nacl(ec2, vpc_id)
    tags = _tags()
    ec2.create_tags(Resources=[vpc_id, subnet_id, table, group, nacl], Tags=tags)
    return Network(vpc_id=vpc_id, subnet_id=subnet_id, group_id=group, route_table_id=table, nacl_id=nacl)


def _nacl(ec2: Any, vpc_id: str) -> str:
    """The VPC's default one. The VPC holds this one subnet, so nobody else is behind it."""
    found = ec2.describe_network_acls(Filters=[{"Name": "vpc-id", "Values": [vpc_id]}])["NetworkAcls"]
    return next(acl["NetworkAclId"] for acl in found if acl["IsDefault"])


def _function(clients: Clients, role_arn: str, topic_arn: str, network: Network, gate_url: str | None) -> str:
    variables = {"INPUT_BUCKET": INPUT_BUCKET, "METRIC_NAMESPACE": NAMESPACE, "ALERT_TOPIC_ARN": topic_arn}
    created = clients.client("lambda").create_function(
        FunctionName=FUNCTION,
        Runtime="python3.12",
        Handler="handler.handler",
        Role=role_arn,
        Code={"ZipFile": package()},
        Timeout=TIMEOUT,
        MemorySize=256,
        Environment={"Variables": variables | ({"AWS_ENDPOINT_URL": gate_url} if gate_url else {})},
        VpcConfig={"SubnetIds": [network.subnet_id], "SecurityGroupIds": [network.group_id]},
        Tags=dict([CHAOS_TAG]),
    )
    return created["FunctionArn"]


def package() -> bytes:
    """The function's deployment package; the same bytes every time."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo("handler.py"), CODE.read_bytes())
    return buffer.getvalue()


def _alarm(clients: Clients, metric: str, topic_arn: str) -> str:
    name = f"{FUNCTION}-{metric.lower()}"
    clients.client("cloudwatch").put_metric_alarm(
        AlarmName=name,
        AlarmDescription=f"{metric} of {FUNCTION}",
        Namespace="AWS/Lambda",
        MetricName=metric,
        Dimensions=[{"Name": "FunctionName", "Value": FUNCTION}],
        Statistic="Sum",
        Period=60,
        EvaluationPeriods=1,
        Threshold=1,
        ComparisonOperator="GreaterThanOrEqualToThreshold",
        TreatMissingData="notBreaching",
        AlarmActions=[topic_arn],
    )
    return name


def _tags() -> list[dict[str, str]]:
    return [{"Key": CHAOS_TAG[0], "Value": CHAOS_TAG[1]}]
