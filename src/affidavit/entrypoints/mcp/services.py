"""What tools work on: the library of bundles, the service that collects, the view of workloads."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from affidavit.collection.tool_dependencies import Desk
from affidavit.entrypoints.mcp.bundles_folder import BundleFolder
from affidavit.entrypoints.mcp.tools.tool import Tool, Toolset
from affidavit.errors import InputRefused
from affidavit.nodes.library.object_keys import instance_in
from affidavit.ports.clock import Clock
from affidavit.ports.table import Table

if TYPE_CHECKING:
    from affidavit.nodes.library.indexed_bundles import Library
    from affidavit.nodes.library.revealing_digests import Leaving
    from affidavit.workloads.questions import Workloads


@dataclass(frozen=True, kw_only=True)
class Shelves:
    """`folder` is there in local mode: what lies in it is taken in before a question is answered."""

    library: "Library"
    folder: BundleFolder | None = None

    def ready(self, asked: str | None = None) -> "Library":
        """With the bundles of the asked node in it, or of all nodes."""
        if self.folder is not None:
            self.folder.take_in(asked)
        return self.library


@dataclass(frozen=True, kw_only=True)
class Services:
    """`shelves` is asked by the first question about a node: reading the rules takes longer than starting up may."""

    state: Table
    clock: Clock
    shelves: Callable[[], Shelves]
    desk: Desk | None = None
    workloads: "Workloads | None" = None

    def answer(self, tool: Tool, request: BaseModel) -> BaseModel:
        match tool.toolset:
            case Toolset.NODES:
                return tool.function()(self.library(_asked_node(request)), request)
            case Toolset.COLLECTION:
                return tool.function()(request, self._desk())
            case Toolset.LAMBDA:
                return tool.function()(self._workloads(), request)

    def leaving(self, tool: Tool, content: Mapping[str, Any]) -> "Leaving":
        """The content of an answer without what tells more than its text, and where its texts stood."""
        from affidavit.nodes.library.revealing_digests import Leaving, leaving

        if tool.toolset is Toolset.NODES:
            return leaving(content, self.shelves().library)
        return Leaving(content=dict(content), around={})

    def library(self, asked: str | None = None) -> "Library":
        """With everything in it that lies in the folder of local mode, or all of one node."""
        return self.shelves().ready(asked)

    def _desk(self) -> Desk:
        if self.desk is None:
            raise InputRefused("this server cannot collect", hint="it needs LOGS_BUCKET and ENABLE_COLLECTION=true")
        return self.desk

    def _workloads(self) -> "Workloads":
        if self.workloads is None:
            raise InputRefused("this server sees no AWS account", hint="start it with LOGS_BUCKET set")
        return self.workloads


def _asked_node(request: BaseModel) -> str | None:
    """None when a question is about several nodes, or names its node in another way."""
    named = getattr(request, "instance_id", None) or getattr(request, "log_key", None)
    return instance_in(named) if isinstance(named, str) else None
