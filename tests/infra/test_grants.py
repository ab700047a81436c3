"""What the code asks of AWS, its role may do: calls are read out of the sources, so that none needs to be made."""

import ast
from collections.abc import Iterator

import botocore.session
import pytest
from botocore import xform_name

from tests.infra.conftest import ROOT
from tests.infra.templates import Template

ADAPTERS = ROOT / "src" / "affidavit" / "adapters" / "aws"
_STORES = ("storage/objects", "storage/table")
RUNS = {
    "affidavit-mcp": (
        *_STORES,
        "mcp_api_key",
        "node_directory",
        "workload/cloudtrail",
        "workload/inspector",
        "workload/state_inspector",
    ),
    "affidavit-mcp-collect": (*_STORES, "mcp_api_key", "node_directory", "collector"),
    "affidavit-console": (*_STORES, "parameters/stored_secrets"),
    "affidavit-gateway-tools": (*_STORES, "node_directory"),
    "affidavit-indexer": (*_STORES, "bundle_ready_publisher", "dead_letter_sender", "node_directory"),
    "affidavit-supervisor": (
        *_STORES,
        "mcp_api_key",
        "node_directory",
        "notifier",
        "parameters/stored_secrets",
        "host/eks_api_access",
    ),
    "affidavit-watchdog": (
        *_STORES,
        "mcp_api_key",
        "node_directory",
        "notifier",
        "parameters/stored_secrets",
        "host/eks_api_access",
        # For known-good states, where somebody named functions.
        "workload/state_inspector",
    ),
    "affidavit-hooks": (*_STORES, "node_directory", "parameters/stored_secrets"),
    # What supervisor and watchdog do to nodes, they do by this one.
    "affidavit-node-collector": (
        *_STORES,
        "collector",
        "host/serial_console",
        "host/eks_api_access",
        "host/cloudwatch_logs",
        "lifecycle_hooks",
    ),
}
# Where an operation and the permission for it differ in name.
PERMISSIONS = {
    "s3:HeadObject": ("s3:GetObject",),
    "s3:ListObjectsV2": ("s3:ListBucket",),
    "s3:GetPublicAccessBlock": ("s3:GetBucketPublicAccessBlock",),
    "dynamodb:TransactWriteItems": ("dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem"),
}
NEVER_ASKED = {
    # The call is Lambda's own; KMS has one of the same name.
    ("affidavit-mcp", "workload/inspector"): {"kms:ListAliases"},
    # Of versions, a state knows those of policies; the versions of functions are asked for by repairs.
    ("affidavit-watchdog", "workload/state_inspector"): {"lambda:ListVersionsByFunction"},
    # Which node brought a bundle is asked of instances; only questions name clusters.
    ("affidavit-indexer", "node_directory"): {"eks:DescribeCluster"},
    # Whose node an alert names is asked of the instance alone.
    ("affidavit-hooks", "node_directory"): {"eks:DescribeCluster"},
    # It reads what an incident recorded under a name it knows, and lists nothing.
    ("affidavit-hooks", "storage/objects"): {"s3:ListObjectsV2"},
    # A collection is never stopped for an incident; whoever asked for it may.
    ("affidavit-node-collector", "collector"): {"ssm:StopAutomationExecution"},
    # It keeps its tasks in the table; bundles come from the nodes themselves.
    ("affidavit-mcp-collect", "storage/objects"): {"s3:PutObject"},
    # What people decide are rows of a table; behind Lambda nothing is handed in.
    ("affidavit-console", "storage/objects"): {"s3:PutObject"},
}
# On somebody's machine, in a role that the operator gives a chat model, or tested with its own condition.
ELSEWHERE = {
    "athena",
    "bedrock_chat",
    "comprehend",
    "deploy/package_bucket_and_mcp_key",
    "deploy/doctor",
    "deploy/stacks",
    "workload/fault_injection_calls",
    # Whoever runs a plan reads with their own role, and writes with the executor's.
    "remediation/least_privilege_calls",
    "remediation/state_reader",
    # A deployed function reads its account out of its own ARN.
    "account_id",
    "kms_signer",
}
_SESSION = botocore.session.get_session()


def calls(module: str) -> set[str]:
    """As `service:Operation`. A name that two services of one module know counts for both."""
    tree = ast.parse((ADAPTERS / f"{module}.py").read_text())
    words = set(_words(tree))
    return {
        f"{service}:{operation}"
        for service in words & set(_SESSION.get_available_services())
        for operation in _SESSION.get_service_model(service).operation_names
        if xform_name(operation) in words
    }


def _words(tree: ast.AST) -> Iterator[str]:
    """Names of methods, and texts: a paginator is asked for by name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.fixture(scope="module")
def granted(templates: dict[str, Template]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for template in templates.values():
        for statement in template.role_statements():
            if statement.is_allowing:
                found.setdefault(statement.owner, set()).update(statement.actions)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("role", "module"), [(role, module) for role, modules in RUNS.items() for module in modules])
def test_a_role_may_do_whatever_its_code_asks_for(role: str, module: str, granted: dict[str, set[str]]) -> None:
    asked = calls(module) - NEVER_ASKED.get((role, module), set())
    assert asked, f"{module} calls nothing that this test can see"
    needed = {permission for call in asked for permission in PERMISSIONS.get(call, (call,))}
    assert needed - granted[role] == set()


def test_calls_are_found_by_method_and_by_paginator() -> None:
    assert {"ec2:DescribeVpcs", "ec2:DescribeSubnets", "iam:ListRolePolicies", "logs:FilterLogEvents"} <= calls(
        "workload/inspector"
    )
    assert len(calls("workload/inspector")) > 20


def test_every_adapter_that_asks_aws_is_deployed_or_known_to_run_elsewhere() -> None:
    files = [file for file in ADAPTERS.rglob("*.py") if ".client(" in file.read_text()]
    asking = {file.relative_to(ADAPTERS).with_suffix("").as_posix() for file in files} - {"clients"}
    assert asking == {module for modules in RUNS.values() for module in modules} | ELSEWHERE
