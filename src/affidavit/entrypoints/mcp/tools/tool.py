"""What the server knows about a tool: one row of the table in `catalog.py`."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from operator import attrgetter
from typing import Any

from pydantic import BaseModel

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
    """`place` is `module:function`; it is imported by the first call, so that the server starts at once."""

    name: str
    toolset: Toolset
    title: str
    description: str
    request: type[BaseModel]
    answer: type[BaseModel]
    place: str
    acts: bool = False
    """It starts or stops something on a node. Every other tool only reads."""
    is_deterministic: bool = True
    """The same question on the same evidence gives the same answer."""

    def function(self) -> Callable[..., BaseModel]:
        module, _, name = self.place.partition(":")
        found: Any = attrgetter(name)(import_module(module))
        return found
