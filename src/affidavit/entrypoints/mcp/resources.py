"""Resources: a bundle, a finding, a slice of a log. Each is a tool's answer under an address."""

import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import mcp.types as types

from affidavit.entrypoints.mcp.calls import Calls
from affidavit.errors import NotFound

_NODE = r"(?P<instanceId>i-[0-9a-f]{8,17})"
_JSON = "application/json"
_PAGE = 500


@dataclass(frozen=True, kw_only=True)
class _Address:
    template: str
    pattern: str
    tool: str
    title: str
    description: str


_BUNDLE = _Address(
    template="affidavit://bundle/{instanceId}",
    pattern=rf"affidavit://bundle/{_NODE}",
    tool="list_bundle_files",
    title="Bundle of a node",
    description="The files of the node's newest bundle, and which of them were scanned.",
)
ADDRESSES = (
    _BUNDLE,
    _Address(
        template="affidavit://finding/{instanceId}/{index_id}/{finding_id}",
        pattern=rf"affidavit://finding/{_NODE}/(?P<index_id>[\w-]{{1,64}})/(?P<finding_id>F-\d{{3,}})",
        tool="summarize",
        title="Finding",
        description="One finding of one index, re-read from the stored bytes.",
    ),
    _Address(
        template="affidavit://log/{+logKey}#L{startLine}-{endLine}",
        pattern=r"affidavit://log/(?P<logKey>[^#?]{1,1024})(?:#L(?P<startLine>\d{1,9})(?:-(?P<endLine>\d{1,9}))?)?",
        tool="read",
        title="Slice of a log",
        description="Whole lines of a file of a bundle; the first ones without a line range.",
    ),
)


def templates(calls: Calls) -> list[types.ResourceTemplate]:
    return [
        types.ResourceTemplate(
            uri_template=address.template,
            name=address.tool,
            title=address.title,
            description=address.description,
            mime_type=_JSON,
        )
        for address in ADDRESSES
        if address.tool in calls.tools
    ]


def list_bundles(calls: Calls, after: str | None) -> types.ListResourcesResult:
    """A page of the nodes that have a bundle; `after` is the cursor, the last id of the page before."""
    if _BUNDLE.tool not in calls.tools:
        return types.ListResourcesResult(resources=[])
    rest = [node for node in calls.services.nodes() if node > (after or "")]
    shown = rest[:_PAGE]
    return types.ListResourcesResult(
        resources=[_bundle(node) for node in shown], next_cursor=shown[-1] if len(rest) > _PAGE else None
    )


def _bundle(node: str) -> types.Resource:
    return types.Resource(
        uri=_BUNDLE.template.replace("{instanceId}", node),
        name=node,
        title=f"Bundle of {node}",
        description=_BUNDLE.description,
        mime_type=_JSON,
    )


def read_resource(uri: str, calls: Calls) -> types.ReadResourceResult:
    """Raises NotFound."""
    address, arguments = _understood(uri, calls)
    outcome = calls.call(calls.tools[address.tool], arguments)
    if outcome.is_error:
        raise NotFound(str(outcome.content["error"]), hint=str(outcome.content["hint"]))
    text = json.dumps(outcome.content, ensure_ascii=False, indent=1)
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, text=text, mime_type=_JSON)])


def _understood(uri: str, calls: Calls) -> tuple[_Address, dict[str, Any]]:
    for address in ADDRESSES:
        if address.tool in calls.tools and (match := re.fullmatch(address.pattern, uri)):
            return address, _arguments({name: value for name, value in match.groupdict().items() if value is not None})
    known = ", ".join(address.template for address in ADDRESSES)
    raise NotFound(f"there is no resource {uri[:200]!a}", hint=f"there are {known}")


def _arguments(parts: dict[str, str]) -> dict[str, Any]:
    arguments: dict[str, Any] = dict(parts)
    if "finding_id" in arguments:
        arguments["finding_ids"] = [arguments.pop("finding_id")]
    if "logKey" in arguments:
        arguments["logKey"] = unquote(arguments["logKey"])
    if "startLine" in arguments:
        first = int(arguments["startLine"])
        arguments |= {"startLine": first, "lineCount": max(1, int(arguments.pop("endLine", first)) - first + 1)}
    return arguments
