"""Calls in a form that the published schemas no longer show and that clients of the contract still make.

`status` is annotated as read-only, so a client may call it without asking a person. Its published schema therefore has
no `cancel`, and a call with `cancel: true` is a call of the tool `cancel`, with the scope that `cancel` needs.
"""

from collections.abc import Mapping
from typing import Any

from affidavit.entrypoints.mcp.tools.tool import Tool

_CANCEL = "cancel"


def as_meant(tool: Tool, arguments: Mapping[str, Any], tools: Mapping[str, Tool]) -> tuple[Tool, Mapping[str, Any]]:
    """The tool and the arguments that such a call means; any other call as it is."""
    if tool.name != "status" or _CANCEL not in arguments:
        return tool, arguments
    rest = {name: value for name, value in arguments.items() if name != _CANCEL}
    match arguments[_CANCEL]:
        case True:
            return tools[_CANCEL], rest
        case False | None:
            return tool, rest
        case _:
            return tool, arguments
