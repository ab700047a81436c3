"""What functions may do, in words of the product. Nothing here can change a workload."""

from collections.abc import Sequence

from infra import names
from infra.function import PackagedFunction
from infra.options import KEY_PARAMETER, Options

# Tags whose value is the cluster's name. Whoever made the node decides which of them it has.
CLUSTER_TAGS = {
    "Managed": "eks:cluster-name",
    "Karpenter": "eks:eks-cluster-name",
    "Eksctl": "alpha.eksctl.io/cluster-name",
    "Aws": "aws:eks:cluster-name",
}
_INSTANCES = "arn:{partition}:ec2:*:{account}:instance/*"
_RUNBOOK = "AWSSupport-CollectEKSInstanceLogs"


def use_table(function: PackagedFunction, table: str) -> None:
    actions = ("GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem")
    function.allow(
        f"Use{_camel(table)}",
        [f"dynamodb:{action}" for action in actions],
        [names.table_arn(table), names.table_arn(table, "/index/due")],
    )


def read_objects(function: PackagedFunction, options: Options, key_arn: str) -> None:
    function.allow("FindObjects", ["s3:ListBucket"], [names.bucket_arn(options.prefix)])
    function.allow("ReadObjects", ["s3:GetObject"], [names.bucket_arn(options.prefix, "*")], "objects")
    function.allow("ReadEncrypted", ["kms:Decrypt"], [key_arn])


def write_objects(function: PackagedFunction, options: Options, key_arn: str, prefixes: Sequence[str]) -> None:
    keys = [names.bucket_arn(options.prefix, f"{prefix}*") for prefix in prefixes]
    function.allow("WriteObjects", ["s3:PutObject", "s3:AbortMultipartUpload"], keys, "objects")
    function.allow("WriteEncrypted", ["kms:GenerateDataKey"], [key_arn])


def read_server_key(function: PackagedFunction) -> None:
    """No permission on KMS: AWS's own key for parameters serves whoever may read the parameter."""
    function.allow("ReadServerKey", ["ssm:GetParameter"], [names.parameter_arn(KEY_PARAMETER)])


def find_nodes(function: PackagedFunction) -> None:
    actions = ["ec2:DescribeInstances", "ec2:DescribeInstanceStatus", "ec2:DescribeRegions"]
    function.allow("FindNodes", actions, ["*"], "describe")


def read_clusters(function: PackagedFunction) -> None:
    pattern = "arn:{partition}:eks:*:{account}:cluster/*"
    function.allow("ReadClusters", ["eks:DescribeCluster"], [pattern], "any-workload")


def read_workloads(function: PackagedFunction) -> None:
    """Reads of whichever function an alert names."""
    everywhere = "arn:{partition}:%s"
    reads = {
        "ReadFunctions": (
            ["lambda:GetFunctionConfiguration", "lambda:GetFunctionConcurrency", "lambda:GetPolicy"],
            [everywhere % "lambda:{region}:{account}:function:*"],
        ),
        "ReadLogs": (["logs:FilterLogEvents"], [everywhere % "logs:{region}:{account}:log-group:*"]),
        "ReadRoles": (
            ["iam:GetRole", "iam:GetRolePolicy", "iam:ListAttachedRolePolicies", "iam:ListRolePolicies"],
            [everywhere % "iam::{account}:role/*"],
        ),
        "ReadPolicies": (
            ["iam:GetPolicy", "iam:GetPolicyVersion"],
            [everywhere % "iam::{account}:policy/*", everywhere % "iam::aws:policy/*"],
        ),
        "ReadBucketPolicies": (["s3:GetBucketPolicy"], [everywhere % "s3:::*"]),
        "ReadKeyPolicies": (["kms:DescribeKey", "kms:GetKeyPolicy"], [everywhere % "kms:{region}:{account}:key/*"]),
    }
    for sid, (actions, resources) in reads.items():
        function.allow(sid, actions, resources, "any-workload")
    function.allow(
        "SimulateRoles", ["iam:SimulatePrincipalPolicy"], [everywhere % "iam::{account}:role/*"], "any-workload"
    )
    function.allow(
        "ReadLimitsAndMetrics", ["cloudwatch:GetMetricStatistics", "lambda:GetAccountSettings"], ["*"], "account"
    )
    function.allow("ReadNetworks", [f"ec2:Describe{thing}" for thing in _NETWORK], ["*"], "describe")


_NETWORK = (
    "DhcpOptions",
    "NetworkAcls",
    "RouteTables",
    "SecurityGroups",
    "Subnets",
    "VpcAttribute",
    "VpcEndpoints",
    "Vpcs",
)


def collect(function: PackagedFunction, options: Options, clusters: Sequence[str]) -> None:
    """Start AWS's own runbook on nodes of these clusters, and what it does with the caller's permissions."""
    executions = "arn:{partition}:ssm:*:{account}:automation-execution/*"
    function.allow(
        "StartTheRunbook",
        ["ssm:StartAutomationExecution"],
        [
            f"arn:{{partition}}:ssm:*::automation-definition/{_RUNBOOK}:*",
            f"arn:{{partition}}:ssm:*:{{account}}:automation-definition/{_RUNBOOK}:*",
        ],
        "execution",
    )
    function.allow(
        "FollowTheRunbook", ["ssm:GetAutomationExecution", "ssm:StopAutomationExecution"], [executions], "execution"
    )
    function.allow("SeeManagedNodes", ["ssm:DescribeInstanceInformation"], ["*"], "account")
    _run_on_nodes(function, options, clusters)
    function.allow(
        "RunTheCollector", ["ssm:SendCommand"], ["arn:{partition}:ssm:*::document/AWS-RunShellScript"], "execution"
    )
    function.allow(
        "FollowCommands",
        ["ssm:GetCommandInvocation", "ssm:ListCommandInvocations", "ssm:ListCommands"],
        ["*"],
        "execution",
    )
    function.allow(
        "CheckTheBucket",
        ["s3:GetBucketPublicAccessBlock", "s3:GetBucketPolicyStatus", "s3:GetBucketAcl"],
        [names.bucket_arn(options.prefix)],
    )


def _run_on_nodes(function: PackagedFunction, options: Options, clusters: Sequence[str]) -> None:
    """One statement a tag: keys of one condition would have to be there all together."""
    named = {maker: {"StringEquals": {_tag(key): list(clusters)}} for maker, key in CLUSTER_TAGS.items()}
    marked = {f"Marked{place}": {"Null": {_tag(key): "false"}} for place, key in enumerate(options.node_tags, start=1)}
    for maker, condition in {**named, **marked}.items():
        function.allow(f"RunOn{maker}Nodes", ["ssm:SendCommand"], [_INSTANCES], "nodes", conditions=condition)


def _tag(key: str) -> str:
    return f"aws:ResourceTag/{key}"


def _camel(name: str) -> str:
    return "".join(word.title() for word in name.split("-"))
