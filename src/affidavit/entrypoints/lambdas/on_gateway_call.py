"""A call of an AgentCore gateway: the event is the tool's arguments, the context says which tool."""

from functools import cache
from typing import Any

from affidavit.entrypoints.mcp.calls import Calls
from affidavit.entrypoints.mcp.scopes import AccessScope
from affidavit.entrypoints.mcp.tools.tool import Toolset
from affidavit.entrypoints.mcp.wiring import Wish, build_calls
from affidavit.settings import Settings

_TOOL = "bedrockAgentCoreToolName"
# The gateway writes the target's name before the tool's.
_BETWEEN = "___"


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    name = str(context.client_context.custom[_TOOL]).rpartition(_BETWEEN)[2]
    tool = _calls().tools.get(name)
    if tool is None:
        return {
            "success": False,
            "statusCode": 404,
            "error": f"there is no tool {name[:80]!a}",
            "hint": "list the tools",
        }
    return dict(_calls().call(tool, event, scopes=frozenset({AccessScope.READ})).content)


@cache
def _calls() -> Calls:
    return build_calls(Settings.from_environment(), Wish(toolsets=frozenset({Toolset.NODES})))
