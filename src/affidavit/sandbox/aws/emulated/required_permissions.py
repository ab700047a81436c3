"""Makes the emulator ask IAM for the actions, resources and conditions that AWS asks for, where it asks for others."""

import json
import re
from collections.abc import Callable
from typing import Any

from affidavit.sandbox.aws.emulated.message_moves import moved_queue
from affidavit.sandbox.aws.emulated.scaling_groups import ScalingGroups

_CALLS = (
    (
        re.compile(r"/functions/[^/]+/concurrency$"),
        {"GET": "GetFunctionConcurrency", "DELETE": "DeleteFunctionConcurrency"},
    ),
    (
        re.compile(r"/functions/[^/]+/aliases/[^/]+$"),
        {"GET": "GetAlias", "PUT": "UpdateAlias", "DELETE": "DeleteAlias"},
    ),
    (re.compile(r"/functions/[^/]+/event-invoke-config$"), {"GET": "GetFunctionEventInvokeConfig"}),
    (
        re.compile(r"/event-source-mappings/[^/]+$"),
        {"GET": "GetEventSourceMapping", "PUT": "UpdateEventSourceMapping", "DELETE": "DeleteEventSourceMapping"},
    ),
)


_ATTACHING = ("iam:AttachRolePolicy", "iam:DetachRolePolicy")


def ask_as_aws(iam_actions: Any, groups: ScalingGroups) -> None:
    """`iam_actions` is the emulator's module that tells which permission a request needs."""
    iam_actions._lambda_action = _refined(iam_actions._lambda_action)
    known = _with_moves(_with_missing(iam_actions.extract_resource_arn))
    iam_actions.extract_resource_arn = _with_groups(known, groups)
    iam_actions.request_tag_context = _with_policy_arn(iam_actions.request_tag_context)


def _with_missing(known: Callable[..., str]) -> Callable[..., str]:
    """The emulator knows no ARN of network ACLs, documents and paths, and asks for `*`."""

    def resource(service: str, method: str, path: str, headers: Any, body: bytes, query: Any, *where: str) -> str:
        place = _place(service, headers, body, query)
        if place is None:
            return known(service, method, path, headers, body, query, *where)
        return f"arn:aws:{service}:{':'.join(where)}:{place}"

    return resource


def _with_moves(known: Callable[..., str]) -> Callable[..., str]:
    """Moving messages is about the queue that they leave."""

    def resource(service: str, method: str, path: str, headers: Any, body: bytes, query: Any, *where: str) -> str:
        is_move = service == "sqs" and headers.get("x-amz-target", "").endswith(("MessageMoveTask", "MoveTasks"))
        queue = moved_queue(body) if is_move else None
        return queue or known(service, method, path, headers, body, query, *where)

    return resource


def _with_groups(known: Callable[..., str], groups: ScalingGroups) -> Callable[..., str]:
    """Replacing an instance is about the group that it belongs to."""

    def resource(service: str, method: str, path: str, headers: Any, body: bytes, query: Any, *where: str) -> str:
        group = groups.group_of(_parameter(query, "InstanceId") or "") if service == "autoscaling" else None
        if group is not None:
            return str(group["AutoScalingGroupARN"])
        return known(service, method, path, headers, body, query, *where)

    return resource


def _place(service: str, headers: Any, body: bytes, query: Any) -> str | None:
    match service:
        case "ec2":
            acl = _parameter(query, "NetworkAclId")
            return f"network-acl/{acl}" if acl else None
        case "ssm":
            return _of_ssm(headers.get("x-amz-target", ""), body)
        case _:
            return None


def _of_ssm(target: str, body: bytes) -> str | None:
    """What SSM runs: IAM is asked for the document, whoever owns it. Of parameters below a path: for the path."""
    operation = target.rpartition(".")[2]
    if operation not in ("SendCommand", "StartAutomationExecution", "GetParametersByPath"):
        return None
    try:
        asked: Any = json.loads(body or b"{}")
    except ValueError:
        return None
    if operation == "GetParametersByPath":
        return f"parameter{asked.get('Path')}"
    if operation == "SendCommand":
        return f"document/{asked.get('DocumentName')}"
    return f"automation-definition/{asked.get('DocumentName')}:{asked.get('DocumentVersion', '$DEFAULT')}"


def _with_policy_arn(known: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Attaching a policy is about a role; the policy is in the condition key `iam:PolicyARN`."""

    def context(service: str, action: str, body: bytes, query: Any) -> dict[str, Any]:
        arn = _parameter(query, "PolicyArn") if action in _ATTACHING else None
        return known(service, action, body, query) | ({} if arn is None else {"iam:PolicyARN": arn})

    return context


def _parameter(query: Any, name: str) -> str | None:
    value: Any = query.get(name) if query else None
    first: Any = value[0] if value and not isinstance(value, str) else value
    return str(first) if first else None


def _refined(known: Callable[[str, str], str | None]) -> Callable[[str, str], str | None]:
    def action(method: str, path: str) -> str | None:
        for pattern, names in _CALLS:
            if pattern.search(path.rstrip("/")) and method in names:
                return names[method]
        return known(method, path)

    return action
