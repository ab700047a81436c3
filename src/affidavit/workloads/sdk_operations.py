"""Which AWS service an SDK operation belongs to, and which IAM action it needs."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from affidavit.yaml_loading import load_yaml


def action_of(operation: str) -> str | None:
    """The IAM action an operation needs; None for one that is not listed. Case does not matter."""
    known = _by_operation().get(operation.lower())
    return known[1] if known else None


def service_name(prefix: str) -> str | None:
    """`dynamodb` is DynamoDB."""
    service = _table()["services"].get(prefix.lower())
    return str(service["name"]) if service else None


def service_of(operation: str) -> str | None:
    known = _by_operation().get(operation.lower())
    return service_name(known[0]) if known else None


def proper_case(action: str) -> str:
    """`sqs:sendmessage` as policies write it; an action that is not listed stays as it is."""
    prefix, _, operation = action.partition(":")
    return _actions().get(action.lower(), f"{prefix.lower()}:{operation}")


@cache
def _by_operation() -> Mapping[str, tuple[str, str]]:
    """Prefix and action by operation, in lower case."""
    table = _table()
    return {
        operation.lower(): (prefix, table["actions"].get(operation, f"{prefix}:{operation}"))
        for prefix, service in table["services"].items()
        for operation in service["operations"]
    }


@cache
def _actions() -> Mapping[str, str]:
    table = _table()
    listed = [
        f"{prefix}:{operation}" for prefix, service in table["services"].items() for operation in service["operations"]
    ]
    return {action.lower(): action for action in (*listed, *table["actions"].values())}


@cache
def _table() -> Mapping[str, Any]:
    return load_yaml((Path(__file__).parent / "operations.yaml").read_text())
