"""A folder of bundles on this machine, taken into the library: each once, and again only when it changed."""

from dataclasses import dataclass
from pathlib import Path

from affidavit.bundle.sources.compression import TAR_NAMES
from affidavit.errors import AffidavitError, InputRefused, InvariantBroken
from affidavit.nodes.ingest.bundle_intake import Analyze, ingest
from affidavit.nodes.ingest.served_folder import LOCAL
from affidavit.nodes.ingest.store_bundle import Ingested, Origin
from affidavit.nodes.library.indexed_bundles import Library

ARCHIVES = (*TAR_NAMES, ".zip")


@dataclass(frozen=True, kw_only=True)
class RefusedUpload:
    path: Path
    error: AffidavitError


@dataclass(frozen=True, kw_only=True)
class DirectoryIngested:
    ingested: tuple[Ingested, ...]
    refused: tuple[RefusedUpload, ...]


def ingest_directory(
    directory: Path, library: Library, *, analyze: Analyze, cluster: str = LOCAL, workers: int | None = None
) -> DirectoryIngested:
    """Archives and bundle folders that lie directly in `directory`. One that cannot be used stops none of the others.

    Cheap to call again: what was taken before and did not change is not read.
    """
    done = [
        ingest_path(path, library, analyze=analyze, cluster=cluster, workers=workers) for path in bundles_in(directory)
    ]
    return DirectoryIngested(
        ingested=tuple(each for each in done if isinstance(each, Ingested)),
        refused=tuple(each for each in done if isinstance(each, RefusedUpload)),
    )


def ingest_path(
    path: Path, library: Library, *, analyze: Analyze, cluster: str = LOCAL, workers: int | None = None
) -> Ingested | RefusedUpload:
    """One archive or bundle folder. Raises InvariantBroken."""
    try:
        origin = Origin(cluster=cluster)
        return ingest(path, library, analyze=analyze, origin=origin, workers=workers, keeps_archive=False)
    except InvariantBroken:
        raise
    except AffidavitError as error:
        return RefusedUpload(path=path, error=error)


def bundles_in(directory: Path) -> list[Path]:
    """In the order of their names. Hidden ones are left alone; the library itself may lie in one."""
    if not directory.is_dir():
        raise InputRefused(f"{directory} is not a directory", hint="give the folder that holds the bundles")
    entries = sorted(entry for entry in directory.iterdir() if not entry.name.startswith("."))
    return [entry for entry in entries if entry.is_dir() or (entry.is_file() and entry.name.endswith(ARCHIVES))]
