"""Take a bundle into the library: read it, store its files, then manifest, then index, then the marker.

Nothing is visible before the marker, everything before it can be written again, and the marker is written once: the
work may die anywhere and be done again, or be done by several at once.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from affidavit.bundle.members_to_disk import UnpackProgress
from affidavit.bundle.safety.limits import UnpackLimits
from affidavit.bundle.workspace import workspace
from affidavit.errors import AffidavitError, UpstreamFailed
from affidavit.index.findings_index import INDEXER_VERSION
from affidavit.knowledge import Knowledge
from affidavit.nodes.ingest.ingest_records import receipt, record_failed, record_indexed
from affidavit.nodes.ingest.ingest_sources import Upload, upload_of
from affidavit.nodes.ingest.store_bundle import Analyzed, Filing, Ingested, Origin
from affidavit.nodes.library.cluster_nodes import record_node
from affidavit.nodes.library.indexed_bundles import IndexMarker, Library
from affidavit.nodes.library.pattern_prevalence import count_bundle
from affidavit.progress import who_waits

# Keys hold at most 1024 bytes, and the home of a bundle takes some.
LIMITS = UnpackLimits(longest_path=900)


class Analyze(Protocol):
    """`investigation.analyze`, which stands above this folder and is handed in."""

    def __call__(
        self,
        path: Path,
        *,
        knowledge: Knowledge,
        workspace: Path,
        progress: UnpackProgress,
        workers: int,
        limits: UnpackLimits | None = None,
        name: str | None = None,
    ) -> Analyzed: ...


def ingest(
    source: str | Path,
    library: Library,
    *,
    analyze: Analyze,
    origin: Origin | None = None,
    workers: int | None = None,
    keeps_archive: bool = True,
    most_bytes: int | None = None,
) -> Ingested:
    """`source` is the key of a stored archive, or the path of an archive or bundle folder.

    A stored archive larger than `most_bytes` is refused without reading it: whoever may upload decides its size.
    A bundle that cannot be used raises, and leaves a record that says why for those who wait for its index.
    """
    upload = upload_of(source, library.objects)
    origin = origin or Origin()
    if (known := _known(upload, library)) is not None:
        _count(library, known, origin)
        return Ingested(marker=known, is_new=False)
    work = Filing(library=library, upload=upload, origin=origin, keeps_archive=keeps_archive)
    with _failure_recorded(upload, library), workspace() as folder:
        if most_bytes is not None:
            upload.refuse_larger(most_bytes)
        analyzed = analyze(
            upload.local(library.objects),
            knowledge=library.knowledge,
            workspace=folder,
            progress=_Told(upload.name or Path(upload.source).name),
            workers=workers or os.cpu_count() or 1,
            limits=LIMITS,
            name=upload.name,
        )
        ingested = work.store(analyzed)
    _count(library, ingested.marker, origin)
    _record(library, upload, ingested.marker)
    return ingested


def _known(upload: Upload, library: Library) -> IndexMarker | None:
    """The index of this very upload under these very rules, without reading a byte of it."""
    item = receipt(library.state, upload.fingerprint)
    if item is None or item.get("knowledge") != _knowledge_version(library):
        return None
    markers = library.markers(str(item["instance_id"]))
    return next((marker for marker in markers if marker.index_id == item["index_id"]), None)


def _knowledge_version(library: Library) -> str:
    return f"{library.knowledge.version} {INDEXER_VERSION}"


def _record(library: Library, upload: Upload, marker: IndexMarker) -> None:
    record_indexed(
        library.state,
        library.clock,
        instance_id=marker.instance_id,
        source=upload.source,
        fingerprint=upload.fingerprint,
        index_id=marker.index_id,
        knowledge=_knowledge_version(library),
        doubt=marker.doubt if marker.is_unproven else "",
    )


@contextmanager
def _failure_recorded(upload: Upload, library: Library) -> Generator[None]:
    try:
        yield
    except AffidavitError as error:
        # What may go well the next time is no failure of the bundle: the caller tries again.
        if not (isinstance(error, UpstreamFailed) and error.is_retryable):
            record_failed(
                library.state,
                library.clock,
                instance_id=upload.instance_id,
                source=upload.source,
                fingerprint=upload.fingerprint,
                error=error,
            )
        raise


def _count(library: Library, marker: IndexMarker, origin: Origin) -> None:
    """Also for a bundle that was known: whoever ingested it may have died before counting."""
    cluster = origin.cluster or marker.cluster
    # What the node did not bring itself says nothing about its cluster.
    if cluster is None or marker.is_unproven:
        return
    record_node(library.state, cluster=cluster, marker=marker)
    patterns = {finding.pattern for finding in library.index(marker).findings}
    count_bundle(library.state, library.clock, cluster=cluster, bundle_id=marker.bundle_id, patterns=patterns)


class _Told(UnpackProgress):
    """Tells whoever waits how much has been stored, and stops when nobody does."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._waiting = who_waits().next_stage()

    def unpacked(self, path: str, consumed: int, stored: int) -> None:
        self._waiting.tell(stored, None, f"reading {self._name}: {stored >> 20} MiB")
