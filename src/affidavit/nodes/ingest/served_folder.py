"""Describes the local folder that a library is filled from, and which bundles in it could not be used."""

from dataclasses import dataclass
from pathlib import Path

# A folder of somebody's bundles stands for a cluster when nothing else names one.
LOCAL = "local"
_LISTED = 20


@dataclass(frozen=True, kw_only=True)
class RefusedBundle:
    name: str
    reason: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.name!a} cannot be used: {self.reason}{f' ({self.hint})' if self.hint else ''}"


@dataclass(frozen=True, kw_only=True)
class ServedFolder:
    """`refused` are the bundles that could not be used when the folder was last read."""

    path: Path
    refused: tuple[RefusedBundle, ...] = ()

    @property
    def gaps(self) -> list[str]:
        """Nobody knows which nodes these bundles are of, so an answer about any node may lack one."""
        more = len(self.refused) - _LISTED
        rest = [f"and {more} more bundles in {self.path} cannot be used"] if more > 0 else []
        return [*map(str, self.refused[:_LISTED]), *rest]

    @property
    def emptiness(self) -> str:
        """What to say when no node has a bundle."""
        if self.refused:
            return f"{self.path} holds no bundle that can be used: {'; '.join(self.gaps)}"
        return f"{self.path} holds no bundle: put archives of the node log collector into it, or unpacked ones"
