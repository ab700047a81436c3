"""Outcomes as MCP tool results: structured, and the same as text for clients that only read text."""

from typing import Any

from pydantic_core import to_json

from affidavit.entrypoints.mcp.calls import Outcome


def tool_result(outcome: Outcome) -> dict[str, Any]:
    """In the form of the wire, which the library checks anyway: its model would only be taken apart again.

    Older protocols know no `resultType`; the library leaves it out for them.
    """
    return {
        "resultType": "complete",
        "content": [{"type": "text", "text": to_json(outcome.content).decode()}],
        "structuredContent": dict(outcome.content),
        "isError": outcome.is_error,
    }
