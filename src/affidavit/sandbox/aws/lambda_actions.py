"""Makes the emulator ask IAM for the actions that AWS asks for, where it takes one call of Lambda for another."""

import re
from collections.abc import Callable
from typing import Any

_CALLS = (
    (
        re.compile(r"/functions/[^/]+/concurrency$"),
        {"GET": "GetFunctionConcurrency", "DELETE": "DeleteFunctionConcurrency"},
    ),
    (
        re.compile(r"/functions/[^/]+/aliases/[^/]+$"),
        {"GET": "GetAlias", "PUT": "UpdateAlias", "DELETE": "DeleteAlias"},
    ),
    (
        re.compile(r"/event-source-mappings/[^/]+$"),
        {"GET": "GetEventSourceMapping", "PUT": "UpdateEventSourceMapping", "DELETE": "DeleteEventSourceMapping"},
    ),
)


def name_lambda_actions(iam_actions: Any) -> None:
    """`iam_actions` is the emulator's module that tells which action a request needs."""
    iam_actions._lambda_action = _refined(iam_actions._lambda_action)


def _refined(known: Callable[[str, str], str | None]) -> Callable[[str, str], str | None]:
    def action(method: str, path: str) -> str | None:
        for pattern, names in _CALLS:
            if pattern.search(path.rstrip("/")) and method in names:
                return names[method]
        return known(method, path)

    return action
