"""The role that the collection runbook works with: commands on nodes of the allowed clusters, and nothing else."""

from collections.abc import Iterator, Sequence

from aws_cdk import Aws
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra import names
from infra.options import Options
from infra.rights.statements import allowing
from infra.rights.wildcards import explain

# Tags whose value is the cluster's name. Whoever made the node decides which of them it has.
CLUSTER_TAGS = {
    "Managed": "eks:cluster-name",
    "Karpenter": "eks:eks-cluster-name",
    "Eksctl": "alpha.eksctl.io/cluster-name",
    "Aws": "aws:eks:cluster-name",
}
RUNBOOK = "AWSSupport-CollectEKSInstanceLogs"
_INSTANCES = "arn:{partition}:ec2:*:{account}:instance/*"
_SHELL = "arn:{partition}:ssm:*::document/AWS-RunShellScript"


class RunbookRole(Construct):
    """Only SSM can assume it, and only for executions of this account."""

    def __init__(self, scope: Construct, options: Options, clusters: Sequence[str]) -> None:
        super().__init__(scope, "Runbook")
        name = options.name("collection")
        self.arn = f"arn:{{partition}}:iam::{{account}}:role/{name}"
        role = iam.Role(
            self,
            "Role",
            role_name=name,
            description="The collection runbook on nodes of the allowed clusters",
            assumed_by=iam.ServicePrincipal(
                "ssm.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}}
            ),
        )
        policy = iam.Policy(self, "Policy", roles=[role])
        for statement in _statements(options, clusters):
            policy.add_statements(statement)
        for resource, why in ((_INSTANCES, "nodes"), (_SHELL, "execution"), ("*", "execution")):
            explain(policy, resource, why)


def _statements(options: Options, clusters: Sequence[str]) -> Iterator[iam.PolicyStatement]:
    yield allowing("SeeManagedNodes", ["ssm:DescribeInstanceInformation"], ["*"])
    # One statement a tag: keys of one condition would have to be there all together.
    named = {maker: {"StringEquals": {_tag(key): list(clusters)}} for maker, key in CLUSTER_TAGS.items()}
    marked = {f"Marked{place}": {"Null": {_tag(key): "false"}} for place, key in enumerate(options.node_tags, start=1)}
    for maker, condition in {**named, **marked}.items():
        yield allowing(f"RunOn{maker}Nodes", ["ssm:SendCommand"], [_INSTANCES], condition)
    yield allowing("RunTheCollector", ["ssm:SendCommand"], [_SHELL])
    follow = ["ssm:GetCommandInvocation", "ssm:ListCommandInvocations", "ssm:ListCommands"]
    yield allowing("FollowCommands", follow, ["*"])
    check = ["s3:GetBucketPublicAccessBlock", "s3:GetBucketPolicyStatus", "s3:GetBucketAcl"]
    yield allowing("CheckTheBucket", check, [names.bucket_arn(options.prefix)])


def _tag(key: str) -> str:
    return f"aws:ResourceTag/{key}"
