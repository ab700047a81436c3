"""Makes the emulator's CloudTrail name what a call changed, as AWS's does: by role, policy, group, table or key."""

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, unquote

from affidavit.adapters.aws.workload.cloudtrail import home_region

# Parameters of the query protocol that name what a call is about.
NAMING = ("RoleName", "PolicyArn", "GroupId", "NetworkAclId", "RouteTableId", "SubnetId", "VpcId", "KeyId")
_FUNCTION = re.compile(r"/functions/([^/]+)")
# CloudTrail keeps no code.
_CODE = ("Code", "ZipFile")
_CONCURRENCY = re.compile(r"/functions/[^/]+/concurrency$")


def name_resources(app: Any) -> None:
    """`app` is the emulator's module; it asks functions of its own what to record, and these go around them."""
    app._ct_resources = _with_names(app._ct_resources)
    app._ct_event_name = _with_concurrency(app._ct_event_name)
    app._maybe_record_cloudtrail = _with_action(app._maybe_record_cloudtrail)


def _with_names(known: Callable[..., list[dict[str, str]]]) -> Callable[..., list[dict[str, str]]]:
    def resources(service: str, method: str, path: str, body: bytes) -> list[dict[str, str]]:
        return known(service, method, path, body) or [{"ResourceName": name} for name in _named(body)]

    return resources


def _named(body: bytes) -> list[str]:
    form = parse_qs(body.decode("utf-8", errors="replace"))
    return [name for key in NAMING for name in form.get(key, [])]


def _with_concurrency(known: Callable[..., str]) -> Callable[..., str]:
    """The emulator takes every PUT on a function for new code."""

    def event_name(service: str, method: str, path: str, headers: Any, query: Any) -> str:
        if service == "lambda" and _CONCURRENCY.search(path):
            return {"PUT": "PutFunctionConcurrency", "DELETE": "DeleteFunctionConcurrency"}.get(method, "Get")
        if service == "lambda" and path.endswith("/policy") and method == "POST":
            return "AddPermission"
        return known(service, method, path, headers, query)

    return event_name


def _as_recorded(path: str, body: bytes) -> bytes:
    """A request to Lambda in CloudTrail's words: names begin small, and the function of the path is one of them."""
    try:
        asked: Any = json.loads(body or b"{}")
    except ValueError:
        return body
    named = _FUNCTION.search(path)
    request = {f"{key[:1].lower()}{key[1:]}": value for key, value in asked.items() if key not in _CODE}
    return json.dumps(request | ({"functionName": unquote(named[1])} if named else {})).encode()


def _with_action(known: Callable[..., None]) -> Callable[..., None]:
    """Calls of the query protocol name themselves in the body, where the emulator does not look.

    Those of IAM are kept where AWS keeps them, whatever region they were signed for.
    """
    from ministack.core.responses import (  # pyright: ignore[reportMissingTypeStubs] - it ships none
        get_account_id,
        get_region,
        request_scope,
    )

    def record(service: str, method: str, path: str, headers: Any, body: bytes, query: Any, *rest: Any) -> None:
        action = parse_qs(body.decode("utf-8", errors="replace")).get("Action", [])
        asked = {**query, "Action": action[0]} if action else query
        body = _as_recorded(path, body) if service == "lambda" else body
        with request_scope(get_account_id(), home_region(get_region()) if service == "iam" else get_region()):
            known(service, method, path, headers, body, asked, *rest)

    return record
