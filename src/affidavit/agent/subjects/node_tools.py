"""The questions about a node that an investigation may ask: their shapes, and their words for the chat model."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, model_validator

from affidavit.nodes.wire import (
    correlate,
    files,
    findings_page,
    network_and_storage,
    node_comparison,
    read,
    search,
    triage,
)
from affidavit.wire.records import ToolAnswer, ToolRequest

TRIAGE, ERRORS, SEARCH, READ, CORRELATE = "quick_triage", "errors", "search", "read", "correlate"
NETWORK, STORAGE, FILES, COMPARE = "network_diagnostics", "storage_diagnostics", "list_bundle_files", "compare_nodes"
# The server adds these to every answer, and they are no part of its shape.
_ADDED = frozenset({"redacted", "redaction_gaps", "_debug"})

REQUESTS: Mapping[str, type[ToolRequest]] = MappingProxyType(
    {
        TRIAGE: triage.QuickTriageRequest,
        ERRORS: findings_page.ErrorsRequest,
        SEARCH: search.SearchRequest,
        READ: read.ReadRequest,
        CORRELATE: correlate.CorrelateRequest,
        NETWORK: network_and_storage.DiagnosticsRequest,
        STORAGE: network_and_storage.DiagnosticsRequest,
        FILES: files.ListBundleFilesRequest,
        COMPARE: node_comparison.CompareNodesRequest,
    }
)
_SHAPES: Mapping[str, type[ToolAnswer]] = {
    TRIAGE: triage.QuickTriageAnswer,
    ERRORS: findings_page.ErrorsAnswer,
    SEARCH: search.SearchAnswer,
    READ: read.ReadAnswer,
    CORRELATE: correlate.CorrelateAnswer,
    NETWORK: network_and_storage.DiagnosticsAnswer,
    STORAGE: network_and_storage.DiagnosticsAnswer,
    FILES: files.ListBundleFilesAnswer,
    COMPARE: node_comparison.CompareNodesAnswer,
}
DESCRIPTIONS: Mapping[str, str] = MappingProxyType(
    {
        TRIAGE: "Ask this first: the verdict on the node's bundle (causes, what they explain, what stays unexplained), "
        "the worst findings with a line of each, and whether the bundle is whole.",
        ERRORS: "The findings of the bundle, worst first, each with the line that shows it. Cite their excerpts.",
        SEARCH: "A regular expression (RE2) over every text file of the bundle, for what errors does not show.",
        READ: "Whole lines of one file, by the full_key of a finding's evidence.",
        CORRELATE: "Findings on one timeline: what happened together and in which order.",
        NETWORK: "Routes, iptables, interfaces, DNS, CNI and conntrack as the bundle shows them.",
        STORAGE: "Disks, inodes, mounts and I/O as the bundle shows them.",
        FILES: "What is in the bundle, and what was not read and why.",
        COMPARE: "What this node has in common with others of its cluster. Only the nodes that the incident lists as "
        "peers may be named beside it.",
    }
)


def _checked_as(shape: type[ToolAnswer]) -> type[BaseModel]:
    """Accepts an answer of this shape with what a server adds to it, or an error."""

    class Checked(BaseModel):
        model_config = ConfigDict(extra="allow")

        @model_validator(mode="before")
        @classmethod
        def _has_the_shape(cls, given: object) -> object:
            if isinstance(given, Mapping):
                answer = cast("Mapping[str, Any]", given)
                if not answer.get("error"):
                    shape.model_validate({name: value for name, value in answer.items() if name not in _ADDED})
            return cast("object", given)

    return Checked


ANSWERS: Mapping[str, type[BaseModel]] = MappingProxyType({tool: _checked_as(shape) for tool, shape in _SHAPES.items()})
