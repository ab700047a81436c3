"""What the watchdog may do to keep known-good states: read the named functions, write below `baselines/`.

Repairs take their values from these states, so nothing of it is there unless somebody names functions.
"""

from collections.abc import Iterator, Sequence

from aws_cdk import CfnCondition, CfnParameter, CfnResource, Fn, Stack
from aws_cdk import aws_iam as iam

from infra import names
from infra.options import Options
from infra.parts.function import PackagedFunction
from infra.rights.statements import allowing
from infra.rights.wildcards import explain
from infra.stacks.state import STATE

_ROLES = "arn:{partition}:iam::{account}:role/*"
_POLICIES = ("arn:{partition}:iam::{account}:policy/*", "arn:{partition}:iam::aws:policy/*")
_KEYS = "arn:{partition}:kms:{region}:{account}:key/*"
FUNCTIONS = (
    "lambda:GetFunctionConcurrency",
    "lambda:GetFunctionConfiguration",
    "lambda:GetFunctionEventInvokeConfig",
    "lambda:GetPolicy",
    "lambda:ListAliases",
)
ROLES = ("iam:GetRole", "iam:GetRolePolicy", "iam:ListAttachedRolePolicies", "iam:ListRolePolicies")
POLICIES = ("iam:GetPolicyVersion", "iam:ListPolicyVersions")
ACCOUNT = ("cloudwatch:GetMetricStatistics", "lambda:ListEventSourceMappings")
NETWORKS = ("ec2:DescribeNetworkAcls", "ec2:DescribeRouteTables", "ec2:DescribeSecurityGroups")
MOST = 10
# No function can have this name.
_NOBODY = "-"
# Rows of others in the same table stay out of reach.
_ROWS = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["KNOWN_GOOD", "KNOWN_GOOD#*"]}}


def keep_known_good(stack: Stack, watchdog: PackagedFunction, options: Options) -> None:
    """A parameter names the functions; without one the watchdog reads no function and keeps nothing."""
    named = CfnParameter(
        stack,
        "KnownGoodFunctions",
        type="CommaDelimitedList",
        default="",
        description=f"at most {MOST} functions, by comma, whose state the watchdog keeps while they are well",
    )
    joined = Fn.join(",", named.value_as_list)
    is_named = Fn.condition_not(Fn.condition_equals(joined, ""))
    policy = iam.Policy(stack, "KeepKnownGood", roles=[watchdog.role])
    for statement in _statements(options, named.value_as_list):
        policy.add_statements(statement)
    for resource, why in _stars(options):
        explain(policy, resource, why)
    inner = policy.node.default_child
    assert isinstance(inner, CfnResource)
    inner.cfn_options.condition = CfnCondition(stack, "KeepsKnownGood", expression=is_named)
    watchdog.function.add_environment("KNOWN_GOOD_FUNCTIONS", joined)


def _statements(options: Options, functions: Sequence[str]) -> Iterator[iam.PolicyStatement]:
    yield iam.PolicyStatement(sid="ReadNamedFunctions", actions=list(FUNCTIONS), resources=_arns(functions))
    yield allowing("ReadTheirRoles", ROLES, [_ROLES])
    yield allowing("ReadTheirPolicies", POLICIES, _POLICIES)
    yield allowing("ReadTheirKeys", ["kms:DescribeKey"], [_KEYS])
    # None of these can be narrowed to one function.
    yield allowing("ReadTheirRunsAndSources", ACCOUNT, ["*"])
    yield allowing("ReadTheirNetworks", NETWORKS, ["*"])
    yield allowing("KeepStates", ["s3:PutObject"], [_states(options)])
    yield allowing("NoteStates", ["dynamodb:PutItem", "dynamodb:UpdateItem"], [names.table_arn(STATE)], _ROWS)


def _arns(functions: Sequence[str]) -> list[str]:
    """CloudFormation has no loop: each place of the list is asked for, and those beyond its end name no function."""
    padded = Fn.split(",", Fn.join(",", [Fn.join(",", list(functions)), *[_NOBODY] * MOST]))
    return [names.placed(names.function_arn(Fn.select(place, padded))) for place in range(MOST)]


def _stars(options: Options) -> Iterator[tuple[str, str]]:
    for resource in (_ROLES, *_POLICIES, _KEYS):
        yield resource, "any-workload"
    yield "*", "account"
    yield _states(options), "objects"


def _states(options: Options) -> str:
    return names.bucket_arn(options.prefix, "baselines/*")
