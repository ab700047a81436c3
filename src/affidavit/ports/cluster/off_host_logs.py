"""Text about a host that can be had without it: its serial console, or what it sent elsewhere while it lived."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class HostQuestion:
    instance_id: str
    node_name: str
    """Empty when nobody knows it."""
    cluster: str
    region: str
    since: datetime
    until: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class HostText:
    """`files` are texts by the path they have in a bundle. `left_out` says what there is beyond them."""

    files: Mapping[str, bytes]
    taken_at: datetime
    left_out: str = ""


class HostTexts(Protocol):
    def read(self, asked: HostQuestion) -> HostText | None:
        """None when there is nothing. Raises AffidavitError when nobody could look."""
        ...
