"""Knows where the API of a cluster is, and how to be let in."""

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterPlace:
    cluster: str
    region: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterReach:
    """`authority` is the certificate, in PEM, that the API's own is signed with; empty: one of the system's."""

    url: str
    token: str = field(repr=False)
    authority: str = ""


class ClusterAccess(Protocol):
    def reach(self, place: ClusterPlace) -> ClusterReach: ...
