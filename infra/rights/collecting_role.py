"""The role that a supervisor takes to collect from nodes and to hold their end. What it reads with has none of this."""

from collections.abc import Iterator, Mapping, Sequence

from aws_cdk import CfnCondition, CfnResource, Duration
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra import names
from infra.options import Options
from infra.rights.runbook_role import CLUSTER_TAGS, RUNBOOK
from infra.rights.statements import allowing
from infra.rights.wildcards import explain
from infra.stacks.state import STATE

NAME = "node-collector"
# Ways to a node's logs whose archives we put ourselves, or let the node monitoring agent put by a signed link.
ARCHIVES = ("nodediagnostic", "console_output", "host_logs")
HOLDING = ("autoscaling:RecordLifecycleActionHeartbeat", "autoscaling:CompleteLifecycleAction")
_GROUPS = "arn:{partition}:autoscaling:*:{account}:autoScalingGroup:*:autoScalingGroupName/*"
_INSTANCES = "arn:{partition}:ec2:*:{account}:instance/*"
_EXECUTIONS = "arn:{partition}:ssm:*:{account}:automation-execution/*"
_CLUSTERS = "arn:{partition}:eks:*:{account}:cluster/*"
_RUNBOOKS = tuple(f"arn:{{partition}}:ssm:*:{owner}:automation-definition/{RUNBOOK}:*" for owner in ("", "{account}"))


def role_arn(options: Options) -> str:
    return f"arn:{{partition}}:iam::{{account}}:role/{options.name(NAME)}"


class CollectingRole(Construct):
    """Only the roles of the supervisor and the watchdog can take it. It is there only on the condition."""

    def __init__(
        self,
        scope: Construct,
        options: Options,
        *,
        takers: Sequence[iam.IRole],
        clusters: Sequence[str],
        log_groups: str,
        key_arn: str,
        condition: CfnCondition,
    ) -> None:
        super().__init__(scope, "NodeCollector")
        role = iam.Role(
            self,
            "Role",
            role_name=options.name(NAME),
            description="Collects from nodes of the allowed clusters, and holds their end until that is done",
            assumed_by=iam.CompositePrincipal(*(iam.ArnPrincipal(taker.role_arn) for taker in takers)),
            max_session_duration=Duration.hours(1),
        )
        policy = iam.Policy(self, "Policy", roles=[role])
        for statement in _statements(options, clusters, log_groups, key_arn):
            policy.add_statements(statement)
        for resource, why in _stars(options):
            explain(policy, resource, why)
        for construct in (role, policy):
            inner = construct.node.default_child
            assert isinstance(inner, CfnResource)
            inner.cfn_options.condition = condition


def _statements(
    options: Options, clusters: Sequence[str], log_groups: str, key_arn: str
) -> Iterator[iam.PolicyStatement]:
    yield allowing("StartTheRunbook", ["ssm:StartAutomationExecution"], _RUNBOOKS)
    yield allowing("FollowTheRunbook", ["ssm:GetAutomationExecution"], [_EXECUTIONS])
    to_ssm = {"StringEquals": {"iam:PassedToService": "ssm.amazonaws.com"}}
    runbook = f"arn:{{partition}}:iam::{{account}}:role/{options.name('collection')}"
    yield allowing("PassTheRunbookItsRole", ["iam:PassRole"], [runbook], to_ssm)
    used = ("GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem")
    rows = [f"dynamodb:{action}" for action in used]
    yield allowing("NoteCollections", rows, [names.table_arn(STATE), names.table_arn(STATE, "/index/due")])
    yield allowing("FindArchives", ["s3:ListBucket"], [names.bucket_arn(options.prefix)])
    yield allowing("ReadArchives", ["s3:GetObject"], [_bundles(options)])
    yield allowing("PutArchives", ["s3:PutObject"], _archives(options))
    yield allowing("UseTheKey", ["kms:Decrypt", "kms:GenerateDataKey"], [key_arn])
    yield allowing("ReachClusters", ["eks:DescribeCluster"], [_CLUSTERS])
    yield allowing("ReadHostLogs", ["logs:DescribeLogStreams", "logs:FilterLogEvents"], [_groups(log_groups)])
    for maker, tagged in _tagged(options, clusters):
        yield allowing(f"ReadConsolesOf{maker}Nodes", ["ec2:GetConsoleOutput"], [_INSTANCES], tagged)
        yield allowing(f"HoldThe{maker}Groups", HOLDING, [_GROUPS], tagged)


def _tagged(options: Options, clusters: Sequence[str]) -> Iterator[tuple[str, Mapping[str, object]]]:
    """One condition a tag: keys of one condition would have to be there all together."""
    for maker, key in CLUSTER_TAGS.items():
        yield maker, {"StringEquals": {f"aws:ResourceTag/{key}": list(clusters)}}
    for place, key in enumerate(options.node_tags, start=1):
        yield f"Marked{place}", {"Null": {f"aws:ResourceTag/{key}": "false"}}


def _stars(options: Options) -> Iterator[tuple[str, str]]:
    for resource in (*_RUNBOOKS, _EXECUTIONS):
        yield resource, "execution"
    for resource in (_bundles(options), *_archives(options)):
        yield resource, "objects"
    yield _CLUSTERS, "any-workload"
    yield _INSTANCES, "nodes"
    yield _GROUPS, "nodes"


def _bundles(options: Options) -> str:
    return names.bucket_arn(options.prefix, "eks_*")


def _archives(options: Options) -> list[str]:
    return [names.bucket_arn(options.prefix, f"eks_*/*_{what}_*.tar.gz") for what in ARCHIVES]


def _groups(log_groups: str) -> str:
    return f"arn:{{partition}}:logs:{{region}}:{{account}}:log-group:{log_groups}"
