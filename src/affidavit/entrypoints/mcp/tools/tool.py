"""What the server knows about a tool: one row of the table in `catalog.py`."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from operator import attrgetter
from typing import Any

from pydantic import BaseModel

from affidavit.entrypoints.mcp.scopes import AccessScope
from affidavit.errors import InputRefused


class Toolset(StrEnum):
    NODES = "nodes"
    COLLECTION = "collection"
    LAMBDA = "lambda"


def toolsets_named(text: str) -> frozenset[Toolset] | None:
    """None when nothing is named: then everything that can be offered is meant. Raises InputRefused."""
    names = {part.strip() for part in text.split(",") if part.strip()}
    unknown = sorted(names - set(Toolset))
    if unknown or (text and not names):
        raise InputRefused(f"no such toolset: {', '.join(unknown) or text!r}", hint=f"there are {', '.join(Toolset)}")
    return frozenset(Toolset(name) for name in names) or None


@dataclass(frozen=True, kw_only=True)
class Tool:
    """`place` is `module:function`, imported by the first call: importing all of them would delay the start."""

    name: str
    toolset: Toolset
    title: str
    description: str
    request: type[BaseModel]
    answer: type[BaseModel]
    place: str
    scope: AccessScope = AccessScope.READ
    is_deterministic: bool = True
    """The same question on the same evidence gives the same answer."""

    @property
    def acts(self) -> bool:
        """It starts or stops something on a node. Every other tool only reads."""
        return self.scope is AccessScope.COLLECT

    def function(self) -> Callable[..., BaseModel]:
        module, _, name = self.place.partition(":")
        found: Any = attrgetter(name)(import_module(module))
        return found
