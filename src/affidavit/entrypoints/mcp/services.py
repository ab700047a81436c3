"""What the tools work on, and calling them: a library of bundles, a desk for collections, a view of workloads."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel

from affidavit.collection.desk import Desk
from affidavit.entrypoints.mcp.folder import BundleFolder
from affidavit.entrypoints.mcp.tool import Tool, Toolset
from affidavit.errors import InputRefused
from affidavit.ports import Clock, Table

if TYPE_CHECKING:
    from affidavit.nodes.library import Library
    from affidavit.workloads.questions import Workloads


@dataclass(frozen=True, kw_only=True)
class Shelves:
    """`folder` is there in local mode: what lies in it is taken in before a question is answered."""

    library: "Library"
    folder: BundleFolder | None = None

    def ready(self) -> "Library":
        if self.folder is not None:
            self.folder.take_in()
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
                return tool.function()(self.library(), request)
            case Toolset.COLLECTION:
                return tool.function()(request, self._desk())
            case Toolset.LAMBDA:
                return tool.function()(self._workloads(), request)

    def library(self) -> "Library":
        """With everything in it that lies in the folder of local mode."""
        return self.shelves().ready()

    def _desk(self) -> Desk:
        if self.desk is None:
            raise InputRefused("this server cannot collect", hint="it needs LOGS_BUCKET and ENABLE_COLLECTION=true")
        return self.desk

    def _workloads(self) -> "Workloads":
        if self.workloads is None:
            raise InputRefused("this server sees no AWS account", hint="start it with LOGS_BUCKET set")
        return self.workloads
