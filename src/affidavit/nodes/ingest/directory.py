"""A folder of bundles on this machine, taken into the library: each once, and again only when it changed."""

from dataclasses import dataclass
from pathlib import Path

from affidavit.bundle.opening import TAR_NAMES
from affidavit.errors import AffidavitError, InputRefused, InvariantBroken
from affidavit.nodes.filing import Ingested, Origin
from affidavit.nodes.ingest import Analyze, ingest
from affidavit.nodes.library import Library
from affidavit.nodes.served_folder import LOCAL

ARCHIVES = (*TAR_NAMES, ".zip")


@dataclass(frozen=True, kw_only=True)
class Refused:
    path: Path
    error: AffidavitError


@dataclass(frozen=True, kw_only=True)
class DirectoryIngested:
    ingested: tuple[Ingested, ...]
    refused: tuple[Refused, ...]


def ingest_directory(
    directory: Path, library: Library, *, analyze: Analyze, cluster: str = LOCAL, workers: int | None = None
) -> DirectoryIngested:
    """Archives and bundle folders that lie directly in `directory`. One that cannot be used stops none of the others.

    Cheap to call again: what was taken before and did not change is not read.
    """
    ingested: list[Ingested] = []
    refused: list[Refused] = []
    origin = Origin(cluster=cluster)
    for path in bundles_in(directory):
        try:
            done = ingest(path, library, analyze=analyze, origin=origin, workers=workers, keeps_archive=False)
            ingested.append(done)
        except InvariantBroken:
            raise
        except AffidavitError as error:
            refused.append(Refused(path=path, error=error))
    return DirectoryIngested(ingested=tuple(ingested), refused=tuple(refused))


def bundles_in(directory: Path) -> list[Path]:
    """In the order of their names. Hidden ones are left alone; the library itself may lie in one."""
    if not directory.is_dir():
        raise InputRefused(f"{directory} is not a directory", hint="give the folder that holds the bundles")
    entries = sorted(entry for entry in directory.iterdir() if not entry.name.startswith("."))
    return [entry for entry in entries if entry.is_dir() or (entry.is_file() and entry.name.endswith(ARCHIVES))]
