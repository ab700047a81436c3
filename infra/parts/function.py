"""A Lambda function of ours: its package, its role, its log group, its dead letters. Nothing is granted by default."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aws_cdk import CfnParameter, CfnResource, Duration, RemovalPolicy, Size, Stack, Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra import names
from infra.options import ARCHITECTURE, RUNTIME, Options
from infra.rights.wildcards import acknowledge, explain

ARTIFACTS = "ArtifactsBucket"
_NOT_THE_LATEST = "The newest Python that our packages were really started in; Lambda supports it for years to come."


@dataclass(frozen=True, kw_only=True)
class Spec:
    """`package` is a zip of `make package`; its key is a parameter of the stack."""

    part: str
    package: str
    handler: str
    timeout: Duration
    memory: int
    about: str
    environment: Mapping[str, str] = field(default_factory=dict)
    storage: int = 512
    concurrency: int | None = None


class PackagedFunction(Construct):
    """`allow` is the only way to a permission, and one with a star in it needs a reason from `wildcards`."""

    def __init__(
        self,
        scope: Stack,
        spec: Spec,
        *,
        options: Options,
        dead_letters: sqs.IQueue | None = None,
        vpc: ec2.IVpc | None = None,
        groups: Sequence[ec2.ISecurityGroup] | None = None,
    ) -> None:
        super().__init__(scope, spec.part)
        self.name = options.name(spec.part)
        self.role = iam.Role(
            self,
            "Role",
            role_name=self.name,
            description=spec.about,
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
        )
        self._policy = iam.Policy(self, "Policy", roles=[self.role])
        group = logs.LogGroup(
            self,
            "Logs",
            log_group_name=f"/aws/lambda/{self.name}",
            retention=logs.RetentionDays.ONE_MONTH,
            removal_policy=RemovalPolicy.DESTROY,
        )
        self.allow(
            "WriteLogs", ["logs:CreateLogStream", "logs:PutLogEvents"], [names.log_streams_arn(self.name)], "streams"
        )
        if vpc is not None:
            self._allow_interfaces()
        self.function = lambda_.Function(
            self,
            "Function",
            function_name=self.name,
            description=spec.about,
            runtime=RUNTIME,
            architecture=ARCHITECTURE,
            handler=spec.handler,
            code=lambda_.Code.from_bucket(artifacts(scope), package_key(scope, spec.package)),
            # Without its policy a new function could be started before it may do anything.
            role=self.role.without_policy_updates(),
            timeout=spec.timeout,
            memory_size=spec.memory,
            ephemeral_storage_size=Size.mebibytes(spec.storage),
            # The one place that is writable: compiled rules are kept there for the next event.
            environment={"XDG_CACHE_HOME": "/tmp", **spec.environment},
            log_group=group,
            reserved_concurrent_executions=spec.concurrency,
            code_signing_config=self._signing(options.signing_arn),
            dead_letter_queue=dead_letters,
            vpc=vpc,
            security_groups=groups,
        )
        acknowledge(self.function, "AwsSolutions-L1", _NOT_THE_LATEST)
        self.function.node.add_dependency(self._policy)
        if dead_letters is not None:
            self.allow("KeepDeadLetters", ["sqs:SendMessage"], [dead_letters.queue_arn])

    def override(self, name: str, value: object) -> None:
        """For values that only a condition of the template decides."""
        inner: CfnResource = self.function.node.default_child  # pyright: ignore
        inner.add_property_override(name, Token.as_any(value))

    def _signing(self, arn: str) -> lambda_.ICodeSigningConfig | None:
        """With one, Lambda refuses packages that nobody of the operator's signed."""
        return lambda_.CodeSigningConfig.from_code_signing_config_arn(self, "Signing", arn) if arn else None

    def allow(
        self,
        sid: str,
        actions: Sequence[str],
        resources: Sequence[str],
        why: str = "",
        *,
        conditions: Mapping[str, object] | None = None,
    ) -> None:
        self._policy.add_statements(
            iam.PolicyStatement(
                sid=sid,
                actions=list(actions),
                resources=[names.placed(resource) for resource in resources],
                conditions=dict(conditions or {}),
            )
        )
        for resource in resources:
            if "*" in resource:
                explain(self._policy, resource, why)

    def _allow_interfaces(self) -> None:
        self.allow(
            "UseNetworkInterfaces",
            [
                "ec2:CreateNetworkInterface",
                "ec2:DescribeNetworkInterfaces",
                "ec2:DeleteNetworkInterface",
                "ec2:AssignPrivateIpAddresses",
                "ec2:UnassignPrivateIpAddresses",
                "ec2:DescribeSubnets",
            ],
            ["*"],
            "interfaces",
        )


def artifacts(stack: Stack) -> s3.IBucket:
    parameter = _parameter(stack, ARTIFACTS, "bucket that holds the packages of the functions")
    found = stack.node.try_find_child("Artifacts")
    return found or s3.Bucket.from_bucket_name(stack, "Artifacts", parameter.value_as_string)  # pyright: ignore


def package_key(stack: Stack, package: str) -> str:
    name = "".join(word.title() for word in package.split("-"))
    return _parameter(stack, f"{name}Package", f"key of the package {package} in that bucket").value_as_string


def _parameter(stack: Stack, name: str, about: str) -> CfnParameter:
    found = stack.node.try_find_child(name)
    return found or CfnParameter(stack, name, type="String", min_length=1, description=about)  # pyright: ignore
