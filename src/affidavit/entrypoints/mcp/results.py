"""Outcomes as MCP tool results: structured, and the same as text for clients that only read text."""

import json

import mcp.types as types

from affidavit.entrypoints.mcp.calls import Outcome


def tool_result(outcome: Outcome) -> types.CallToolResult:
    text = json.dumps(outcome.content, ensure_ascii=False, separators=(",", ":"))
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=dict(outcome.content),
        is_error=outcome.is_error,
    )
