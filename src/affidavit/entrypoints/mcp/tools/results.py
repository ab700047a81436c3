"""Outcomes as MCP tool results: an answer structured and as text, an error as text alone."""

from typing import Any

from pydantic_core import to_json

from affidavit.entrypoints.mcp.calls import CallOutcome


def tool_result(outcome: CallOutcome) -> dict[str, Any]:
    """A plain dictionary in wire form: the library checks it anyway, and would turn a model into one.

    An error has no structured content: many clients hold that against the schema of answers and lose the error.
    Older protocols know no `resultType`; the library leaves it out for them.
    """
    structured = {} if outcome.is_error else {"structuredContent": dict(outcome.content)}
    return {
        "resultType": "complete",
        "content": [{"type": "text", "text": to_json(outcome.content).decode()}],
        **structured,
        "isError": outcome.is_error,
    }
