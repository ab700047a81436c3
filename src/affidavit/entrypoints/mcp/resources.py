"""Resources: a bundle, a finding, a slice of a log. Each is a tool's answer under an address."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import mcp.types as types

from affidavit.entrypoints.mcp.calls import Calls
from affidavit.entrypoints.mcp.scopes import ALL_SCOPES, AccessScope
from affidavit.errors import EvidenceUnavailable, InputRefused, NotFound

if TYPE_CHECKING:
    from affidavit.nodes.library.indexed_bundles import IndexMarker, Library

_NODE = r"(?P<instanceId>i-[0-9a-f]{8,17})"
_JSON = "application/json"
# Nodes on a page; each is a few requests to the store.
_PAGE = 50
_AT_ONCE = 16


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
_OLDER = _Address(
    template="affidavit://bundle/{instanceId}/{index_id}",
    pattern=rf"affidavit://bundle/{_NODE}/(?P<index_id>[\w-]{{1,64}})",
    tool="list_bundle_files",
    title="Bundle of a node, by its index",
    description="The files of the bundle that this index was made of, and which of them were scanned.",
)
ADDRESSES = (
    _BUNDLE,
    _OLDER,
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


def list_bundles(calls: Calls, cursor: str | None) -> types.ListResourcesResult:
    """Every index of a page of nodes; `cursor` is the last node of the page before. Raises InputRefused."""
    if _BUNDLE.tool not in calls.tools:
        return types.ListResourcesResult(resources=[])
    if cursor is not None and re.fullmatch(_NODE, cursor) is None:
        raise InputRefused(f"there is no page {cursor[:80]!a}", hint="use nextCursor of the page before")
    library = calls.services.library()
    nodes = list(islice(library.instances(cursor or ""), _PAGE + 1))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = pool.map(partial(_indexes, library), nodes[:_PAGE])
    return types.ListResourcesResult(
        resources=[resource for each in found for resource in each],
        next_cursor=nodes[_PAGE - 1] if len(nodes) > _PAGE else None,
    )


def _indexes(library: "Library", node: str) -> list[types.Resource]:
    """The newest under the node's own address, older ones pinned. A node that has files and no index has none."""
    try:
        markers = library.markers(node)
    except EvidenceUnavailable:
        # Whoever reads the resource is told what is wrong with it.
        return [_resource(_BUNDLE, node, f"Bundle of {node}")]
    older = [_resource(_OLDER, node, f"Earlier index of {node}, {m.indexed_at:%F %T}Z", m) for m in markers[1:]]
    return [_resource(_BUNDLE, node, f"Bundle of {node}"), *older] if markers else []


def _resource(address: _Address, node: str, title: str, marker: "IndexMarker | None" = None) -> types.Resource:
    uri = address.template.replace("{instanceId}", node)
    return types.Resource(
        uri=uri.replace("{index_id}", marker.index_id) if marker is not None else uri,
        name=f"{node}/{marker.index_id}" if marker is not None else node,
        title=title,
        description=address.description,
        mime_type=_JSON,
    )


def read_resource(uri: str, calls: Calls, scopes: frozenset[AccessScope] = ALL_SCOPES) -> types.ReadResourceResult:
    """Raises NotFound, and InputRefused for a range that runs backwards."""
    address, arguments = _understood(uri, calls)
    outcome = calls.call(calls.tools[address.tool], arguments, scopes=scopes)
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
        last = int(arguments.pop("endLine", first))
        if last < first:
            raise InputRefused(f"line {last} is before line {first}", hint="put the first line in front: #L2-5")
        arguments |= {"startLine": first, "lineCount": last - first + 1}
    return arguments
