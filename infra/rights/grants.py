"""What functions may do, in words of the product. Nothing here can change a workload."""

from collections.abc import Sequence

from infra import names
from infra.options import KEY_PARAMETER, Options
from infra.parts.function import PackagedFunction
from infra.rights.runbook_role import RUNBOOK, RunbookRole


def use_table(function: PackagedFunction, table: str) -> None:
    actions = ("GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem")
    function.allow(
        f"Use{_camel(table)}",
        [f"dynamodb:{action}" for action in actions],
        [names.table_arn(table), names.table_arn(table, "/index/due")],
    )


def read_table(function: PackagedFunction, table: str) -> None:
    function.allow(f"Read{_camel(table)}", ["dynamodb:GetItem", "dynamodb:Query"], [names.table_arn(table)])


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


def read_secrets(function: PackagedFunction, path: str) -> None:
    """All of one folder. The environment tells the function where to look."""
    function.function.add_environment("SECRETS_PATH", path)
    folder = names.parameter_arn(path)
    function.allow("ReadSecrets", ["ssm:GetParametersByPath"], [folder, f"{folder}/*"], "secrets")


def find_nodes(function: PackagedFunction) -> None:
    actions = ["ec2:DescribeInstances", "ec2:DescribeInstanceStatus", "ec2:DescribeRegions"]
    function.allow("FindNodes", actions, ["*"], "describe")


def read_clusters(function: PackagedFunction) -> None:
    pattern = "arn:{partition}:eks:*:{account}:cluster/*"
    function.allow("ReadClusters", ["eks:DescribeCluster"], [pattern], "any-workload")


def read_workloads(function: PackagedFunction, *, functions: str, log_groups: str) -> None:
    """Reads of whichever function an alert names. The operator's patterns say which functions and log groups."""
    everywhere = "arn:{partition}:%s"
    function.allow(
        "ReadFunctions",
        [
            "lambda:GetFunctionConfiguration",
            "lambda:GetFunctionConcurrency",
            "lambda:GetFunctionEventInvokeConfig",
            "lambda:GetPolicy",
            "lambda:ListAliases",
            "lambda:ListVersionsByFunction",
        ],
        [names.function_arn(functions)],
    )
    function.allow(
        "ReadLogs", ["logs:FilterLogEvents"], [everywhere % f"logs:{{region}}:{{account}}:log-group:{log_groups}"]
    )
    reads = {
        "ReadRoles": (
            ["iam:GetRole", "iam:GetRolePolicy", "iam:ListAttachedRolePolicies", "iam:ListRolePolicies"],
            [everywhere % "iam::{account}:role/*"],
        ),
        "ReadPolicies": (
            ["iam:GetPolicy", "iam:GetPolicyVersion", "iam:ListPolicyVersions"],
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
    # Neither call can be narrowed to one function.
    function.allow("ReadChanges", ["cloudtrail:LookupEvents", "lambda:ListEventSourceMappings"], ["*"], "account")
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


def collect(function: PackagedFunction, options: Options, clusters: Sequence[str]) -> str:
    """May start AWS's own runbook and follow it. What the runbook does on a node it does by a role of its own.

    So whoever takes over the function still cannot send a command of their own to a node. Returns the role's ARN.
    """
    executions = "arn:{partition}:ssm:*:{account}:automation-execution/*"
    function.allow(
        "StartTheRunbook",
        ["ssm:StartAutomationExecution"],
        [
            f"arn:{{partition}}:ssm:*::automation-definition/{RUNBOOK}:*",
            f"arn:{{partition}}:ssm:*:{{account}}:automation-definition/{RUNBOOK}:*",
        ],
        "execution",
    )
    function.allow(
        "FollowTheRunbook", ["ssm:GetAutomationExecution", "ssm:StopAutomationExecution"], [executions], "execution"
    )
    role = RunbookRole(function, options, clusters)
    function.allow(
        "PassTheRunbookItsRole",
        ["iam:PassRole"],
        [role.arn],
        conditions={"StringEquals": {"iam:PassedToService": "ssm.amazonaws.com"}},
    )
    return names.placed(role.arn)


def _camel(name: str) -> str:
    return "".join(word.title() for word in name.split("-"))
