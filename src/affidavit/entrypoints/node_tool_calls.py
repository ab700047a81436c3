"""Calls the MCP server's node tools in this process: same checks and redaction, errors as answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from affidavit.bootstrap import App
from affidavit.entrypoints.mcp.calls import Calls
from affidavit.entrypoints.mcp.tools.tool import Toolset
from affidavit.entrypoints.mcp.wiring import Wish, calls_of
from affidavit.ports.json import JsonValue


@dataclass(frozen=True)
class NodeTools:
    app: App

    @cached_property
    def _calls(self) -> Calls:
        return calls_of(self.app, Wish(toolsets=frozenset({Toolset.NODES})))

    def answer(self, tool: str, arguments: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        return self._calls.call(self._calls.tools[tool], arguments).content
