"""Completion of arguments: instance ids that have a bundle, for prompts and resource addresses."""

from typing import Final

import mcp.types as types

from affidavit.entrypoints.mcp.calls import Calls

# The protocol allows no more.
_MOST: Final = 100
_NODE: Final = "instanceId"


def complete(calls: Calls, params: types.CompleteRequestParams) -> types.CompleteResult:
    """Nothing for an argument that is not an instance id."""
    found: list[str] = []
    if params.argument.name == _NODE and "quick_triage" in calls.tools:
        begun = params.argument.value
        found = [node for node in calls.services.library().instances() if node.startswith(begun)]
    return types.CompleteResult(
        completion=types.Completion(values=found[:_MOST], total=len(found), has_more=len(found) > _MOST)
    )
