"""Opt-in: a small workload that fails honestly, its alarms, and the role that may break it on purpose."""

from aws_cdk import Duration, RemovalPolicy, Stack, Tags
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct, IConstruct

from infra import names
from infra.options import Options
from infra.parts.function import PackagedFunction, Spec
from infra.parts.network import ADDRESSES, closed_group, lead_to
from infra.rights.wildcards import acknowledge, explain
from infra.stacks.storage import Storage, dead_letter_queue
from infra.stacks.supervisor import Supervisor

_SERVICES = ec2.InterfaceVpcEndpointAwsService
METRICS = "DataProcessor"
CHAOS_TAG = ("affidavit:chaos", "allowed")


class Demo(Stack):
    def __init__(
        self, scope: Construct, name: str, *, options: Options, storage: Storage, supervisor: Supervisor
    ) -> None:
        super().__init__(scope, name, description="Affidavit: a workload to break", analytics_reporting=False)
        self._options, self._storage, self._supervisor = options, storage, supervisor
        self._input = self._bucket()
        vpc = self._network()
        group = closed_group(self, vpc, "of the demo workload")
        for service in (_SERVICES.CLOUDWATCH_MONITORING, _SERVICES.SNS):
            lead_to(service, vpc)
        self.processor = self._processor(vpc, group)
        for metric in ("Errors", "Throttles"):
            self._alarm(metric)
        self._breaker()
        Tags.of(self).add(*CHAOS_TAG)

    def _bucket(self) -> s3.Bucket:
        bucket = s3.Bucket(
            self,
            "Input",
            bucket_name=names.placed(names.bucket_name(self._options.name("demo"))),
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            removal_policy=RemovalPolicy.DESTROY,
        )
        acknowledge(bucket, "AwsSolutions-S1", "The demo's made-up input: who reads it is of no interest.")
        return bucket

    def _network(self) -> ec2.Vpc:
        vpc = ec2.Vpc(
            self,
            "Vpc",
            ip_addresses=ec2.IpAddresses.cidr(ADDRESSES),
            max_azs=1,
            nat_gateways=0,
            restrict_default_security_group=False,
            subnet_configuration=[
                ec2.SubnetConfiguration(name="demo", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED, cidr_mask=24)
            ],
        )
        acknowledge(vpc, "AwsSolutions-VPC7", "The demo's network carries no data of anybody.")
        vpc.add_gateway_endpoint("S3", service=ec2.GatewayVpcEndpointAwsService.S3)
        return vpc

    def _processor(self, vpc: ec2.Vpc, group: ec2.SecurityGroup) -> PackagedFunction:
        spec = Spec(
            part="data-processor",
            package="demo",
            handler="handler.handler",
            about="The demo workload: reads its input, counts it, reports its own failure",
            timeout=Duration.seconds(20),
            memory=256,
            environment={
                "INPUT_BUCKET": self._input.bucket_name,
                "METRIC_NAMESPACE": METRICS,
                "ALERT_TOPIC_ARN": names.placed(names.topic_arn(self._options.name("incidents"))),
            },
        )
        dead = dead_letter_queue(self, "DeadRuns", self._options.name("demo-dead"))
        function = PackagedFunction(self, spec, options=self._options, dead_letters=dead, vpc=vpc, groups=[group])
        function.allow("ReadInput", ["s3:GetObject"], [names.bucket_arn(self._options.name("demo"), "*")], "objects")
        function.allow(
            "WriteMetrics",
            ["cloudwatch:PutMetricData"],
            ["*"],
            "metric",
            conditions={"StringEquals": {"cloudwatch:namespace": METRICS}},
        )
        function.allow("PublishFailures", ["sns:Publish"], [names.topic_arn(self._options.name("incidents"))])
        function.allow("EncryptMessages", ["kms:GenerateDataKey", "kms:Decrypt"], [self._storage.messages_key.key_arn])
        return function

    def _alarm(self, metric: str) -> None:
        """A function that may not run at all cannot report itself."""
        measured = cloudwatch.Metric(
            namespace="AWS/Lambda",
            metric_name=metric,
            dimensions_map={"FunctionName": self.processor.name},
            statistic="Sum",
            period=Duration.minutes(1),
        )
        alarm = cloudwatch.Alarm(
            self,
            metric,
            alarm_name=f"{self.processor.name}-{metric.lower()}",
            alarm_description=f"{metric} of {self.processor.name}",
            metric=measured,
            threshold=1,
            evaluation_periods=1,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        alarm.add_alarm_action(actions.SnsAction(self._supervisor.topic))

    def _breaker(self) -> None:
        """For `affidavit chaos`, assumed by a person of this account. It reaches only what carries the demo's tag."""
        role = iam.Role(
            self,
            "Chaos",
            role_name=self._options.name("chaos"),
            description="May break the demo workload, and nothing else",
            assumed_by=iam.AccountPrincipal(self.account),
            max_session_duration=Duration.hours(1),
            permissions_boundary=self._boundary("ChaosBoundary", "chaos-boundary", self._faults()),
        )
        policy = iam.Policy(self, "ChaosPolicy", roles=[role])
        for statement in self._faults():
            policy.add_statements(statement)
        self._explain(policy)

    def _boundary(self, name: str, part: str, statements: list[iam.PolicyStatement]) -> iam.ManagedPolicy:
        """Whatever is attached to the role later, it can do no more than this."""
        boundary = iam.ManagedPolicy(
            self, name, managed_policy_name=self._options.name(part), document=iam.PolicyDocument(statements=statements)
        )
        self._explain(boundary)
        return boundary

    def _explain(self, policy: IConstruct) -> None:
        for pattern in ("security-group/*", "network-acl/*"):
            explain(policy, f"arn:{{partition}}:ec2:{{region}}:{{account}}:{pattern}", "chaos")
        explain(policy, "*", "describe")

    def _faults(self) -> list[iam.PolicyStatement]:
        processor = names.placed(names.function_arn(self.processor.name))
        role = names.placed(f"arn:{{partition}}:iam::{{account}}:role/{self.processor.name}")
        kinds = ("security-group/*", "network-acl/*")
        networks = [names.placed(f"arn:{{partition}}:ec2:{{region}}:{{account}}:{kind}") for kind in kinds]
        tag = {"StringEquals": {f"aws:ResourceTag/{CHAOS_TAG[0]}": CHAOS_TAG[1]}}
        return [
            _statement("BreakConcurrency", _CONCURRENCY, [processor]),
            _statement("BreakPermissions", _PERMISSIONS, [role]),
            _statement("BreakNetwork", _NETWORK, networks, tag),
            _statement("LookAround", _LOOK, ["*"]),
            _statement(
                "SaveWhatWasThere",
                _SAVE,
                [names.placed(names.table_arn("affidavit-state"))],
                {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["CHAOS#*"]}},
            ),
        ]


_CONCURRENCY = (
    "lambda:DeleteFunctionConcurrency",
    "lambda:GetFunctionConcurrency",
    "lambda:GetFunctionConfiguration",
    "lambda:ListTags",
    "lambda:PutFunctionConcurrency",
)
_PERMISSIONS = (
    "iam:AttachRolePolicy",
    "iam:DeleteRolePolicy",
    "iam:DetachRolePolicy",
    "iam:GetRole",
    "iam:GetRolePolicy",
    "iam:ListAttachedRolePolicies",
    "iam:ListRolePolicies",
    "iam:ListRoleTags",
    "iam:PutRolePolicy",
)
_NETWORK = (
    "ec2:AuthorizeSecurityGroupEgress",
    "ec2:CreateNetworkAclEntry",
    "ec2:DeleteNetworkAclEntry",
    "ec2:RevokeSecurityGroupEgress",
)
_LOOK = (
    "ec2:DescribeNetworkAcls",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeTags",
    "sts:GetCallerIdentity",
)
_SAVE = ("dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem")


def _statement(
    sid: str, allowed: tuple[str, ...], resources: list[str], conditions: dict[str, object] | None = None
) -> iam.PolicyStatement:
    return iam.PolicyStatement(sid=sid, actions=list(allowed), resources=resources, conditions=conditions)
