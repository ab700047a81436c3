"""Every bundle and index of every node, as they lie in the object store.

The first bundle of an instance owns the layout that other programs know (`eks_i-…/manifest.json`, `extracted/…`);
any other lives whole under `eks_i-…/bundles/<bundle id>/`, so no bundle ever replaces the bytes a report cites. A
marker, written last, makes an index exist; the newest marker is the current index, and an older one can be pinned. A
bundle that the node did not bring itself is current only while the node has no other.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from affidavit.bundle.manifest import Manifest, manifest_from_json
from affidavit.errors import EvidenceUnavailable, InputRefused, NotFound
from affidavit.evidence.finding import Finding
from affidavit.index.findings_index import FindingsIndex, index_from_json
from affidavit.knowledge import Knowledge
from affidavit.nodes.ingest.ingest_records import last_failure
from affidavit.nodes.ingest.served_folder import ServedFolder
from affidavit.nodes.library.lru import LruCache
from affidavit.nodes.library.object_keys import INDEX, MANIFEST, home_key, instance_of, markers_prefix, prefix_of
from affidavit.nodes.library.redacted_spans import HiddenText
from affidavit.nodes.library.stored_lines import LineIndexes, StoredLines
from affidavit.nodes.library.upload_origin import OriginProof
from affidavit.ports.clock import Clock
from affidavit.ports.node_directory import NodeDirectory
from affidavit.ports.object_store import ObjectMissing, ObjectStore, StoredObject
from affidavit.ports.table import Table
from affidavit.redaction.redact import Redactor

# The owner of an instance's layout that another program filled.
FOREIGN = "foreign"
# Parsed: a few megabytes each at most.
_INDEXES_KEPT = 64
_MANIFESTS_KEPT = 32
_MARKERS_KEPT = 4096
_LISTED = 10
# What an index of version 1 is called when it is read: it had no identity.
_NAMELESS = "v1"


class LibraryHome(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    bundle_id: str


class IndexMarker(BaseModel):
    """An index that can be asked. `home` is the prefix its bundle lies under."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    instance_id: str
    index_id: str
    bundle_id: str
    home: str
    indexed_at: datetime
    manifest_key: str
    index_key: str
    cluster: Annotated[str | None, Field(max_length=200)] = None
    origin: OriginProof | None = None
    """None: no node brought the bundle but an operator, or it was stored before uploads were bound to their nodes."""
    origin_note: Annotated[str, Field(max_length=400)] = ""
    is_handed_in: bool = False
    """S3 says that somebody who is no node wrote the archive: it must not be taken for the one a node was asked for."""
    content: str = ""
    """Tells versions of an index apart that lies under a key which is written more than once."""

    @property
    def is_unproven(self) -> bool:
        return self.origin is OriginProof.UNPROVEN

    @property
    def doubt(self) -> str:
        """What a reader has to know of a bundle of unproven origin."""
        return f"origin: unproven: this bundle says that it is from {self.instance_id}, but {self.origin_note}"


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """One index with what it takes to answer from it."""

    marker: IndexMarker
    index: FindingsIndex
    lines: StoredLines

    @cached_property
    def findings(self) -> dict[str, Finding]:
        return {finding.finding_id: finding for finding in self.index.findings}


class Library:
    """Answers come from here. Parsed indexes are kept; one that cannot change is never read twice."""

    def __init__(
        self,
        *,
        objects: ObjectStore,
        state: Table,
        clock: Clock,
        knowledge: Knowledge,
        directory: NodeDirectory | None = None,
        region: str = "",
        redactor: Redactor | None = None,
    ) -> None:
        """`directory` says which nodes a cluster of `region` has; without it only those with a bundle are known.

        `redactor` is the one that answers leave through: a quote of such an answer is to be known again.
        """
        self.objects = objects
        self.state = state
        self.clock = clock
        self.knowledge = knowledge
        self.directory = directory
        self.region = region
        self.redactor = redactor or Redactor()
        self.folder: ServedFolder | None = None  # whoever fills the library from one says so, and what it looks like
        self.line_indexes = LineIndexes()
        self.hidden = HiddenText(self.redactor)
        self._homes: LruCache[str, LibraryHome] = LruCache(_MARKERS_KEPT)
        self._markers: LruCache[str, IndexMarker] = LruCache(_MARKERS_KEPT)
        self._indexes: LruCache[tuple[str, str], FindingsIndex] = LruCache(_INDEXES_KEPT)
        self._shelves: LruCache[tuple[str, ...], Shelf] = LruCache(_INDEXES_KEPT)
        self._manifests: LruCache[tuple[str, int, datetime], Manifest] = LruCache(_MANIFESTS_KEPT)

    def open(self, instance_id: str, index_id: str | None = None) -> Shelf:
        """The current index, or the pinned one. Raises NotFound saying what there is."""
        known = self.markers(instance_id)
        return self._opened(self._found(known, instance_id, index_id), known)

    def newest(self, instance_id: str) -> Shelf | None:
        """For those who ask about many nodes, of which some have no bundle."""
        known = self.markers(instance_id)
        return self._opened(known[0], known) if known else None

    def _opened(self, marker: IndexMarker, known: Sequence[IndexMarker]) -> Shelf:
        doubts = tuple(_doubts(marker, known))
        key = marker.index_key, marker.content, marker.index_id, *doubts
        return self._shelves.get(key, lambda: self._shelf(marker, doubts))

    def _shelf(self, marker: IndexMarker, doubts: Sequence[str]) -> Shelf:
        index = self.index(marker)
        told = replace(index, gaps=(*doubts, *index.gaps)) if doubts else index
        return Shelf(marker=marker, index=told, lines=self.lines(marker.instance_id))

    def find(self, instance_id: str, index_id: str | None = None) -> IndexMarker:
        return self._found(self.markers(instance_id), instance_id, index_id)

    def _found(self, known: Sequence[IndexMarker], instance_id: str, index_id: str | None) -> IndexMarker:
        if not known:
            raise self._nothing_indexed(instance_id)
        if index_id is None:
            return known[0]
        for marker in known:
            if marker.index_id == index_id:
                return marker
        listed = ", ".join(marker.index_id for marker in known[:_LISTED])
        raise NotFound(
            f"{instance_id} has no index {index_id!a}; it has {len(known)}: {listed}",
            hint="ask again with one of these as index_id, or without index_id, and take finding ids from that answer",
        )

    def markers(self, instance_id: str) -> list[IndexMarker]:
        """Newest first; those of unproven origin behind all others."""
        listed = list(self.objects.list(markers_prefix(instance_id)))
        # One of unproven origin is written again when the node brings the same bundle.
        known = [
            self._markers.get(f"{stored.key} {stored.modified}", lambda key=stored.key: self._read_marker(key))
            for stored in listed
        ]
        foreign = self._foreign(instance_id)
        found = [*known, foreign] if foreign is not None else known
        return sorted(found, key=lambda each: (not each.is_unproven, each.indexed_at, each.index_id), reverse=True)

    def instances(self, after: str = "") -> Iterator[str]:
        """Instances the store holds anything of, in the order of their ids, from behind `after` on."""
        folders = self.objects.folders(prefix_of("i-"), after=prefix_of(after) if after else "")
        return (found for folder in folders if (found := instance_of(folder)) is not None)

    def index(self, marker: IndexMarker) -> FindingsIndex:
        return self._indexes.get((marker.index_key, marker.content), lambda: self._read_index(marker.index_key))

    def manifest(self, marker: IndexMarker) -> Manifest | None:
        """None when there is none. Raises EvidenceUnavailable when it is not one."""
        stored = self.objects.head(marker.manifest_key)
        if stored is None:
            return None
        return self._manifests.get((stored.key, stored.size, stored.modified), lambda: self._read_manifest(stored.key))

    def lines(self, instance_id: str) -> StoredLines:
        return StoredLines(instance_id, self.objects, self.line_indexes)

    def home_of(self, instance_id: str) -> LibraryHome | None:
        """Who owns the instance's own layout; never changes once it is claimed."""
        try:
            return self._homes.get(instance_id, lambda: self._read_home(instance_id))
        except ObjectMissing:
            return None

    def _read_home(self, instance_id: str) -> LibraryHome:
        return LibraryHome.model_validate_json(self.objects.get(home_key(instance_id)))

    def _read_marker(self, key: str) -> IndexMarker:
        try:
            return IndexMarker.model_validate_json(self.objects.get(key))
        except ValidationError as error:
            raise EvidenceUnavailable(
                f"{key} is no index marker", hint="remove it, then ingest the bundle again"
            ) from error

    def _foreign(self, instance_id: str) -> IndexMarker | None:
        """An index that another program wrote into the instance's layout, without a marker."""
        home = self.home_of(instance_id)
        if home is not None and home.bundle_id != FOREIGN:
            return None
        stored = self.objects.head(f"{prefix_of(instance_id)}/{INDEX}")
        return self._foreign_marker(instance_id, stored) if stored is not None else None

    def _foreign_marker(self, instance_id: str, stored: StoredObject) -> IndexMarker:
        content = f"{stored.size} {stored.modified.isoformat()}"
        index = self._indexes.get((stored.key, content), lambda: self._read_index(stored.key))
        return IndexMarker(
            instance_id=instance_id,
            index_id=index.index_id,
            bundle_id=FOREIGN,
            home=prefix_of(instance_id),
            indexed_at=index.indexed_at,
            manifest_key=f"{prefix_of(instance_id)}/{MANIFEST}",
            index_key=stored.key,
            content=content,
        )

    def _read_index(self, key: str) -> FindingsIndex:
        text = self.objects.get(key)
        try:
            index = index_from_json(text, name=key)
        except InputRefused as error:
            raise EvidenceUnavailable(
                str(error), hint="index the bundle again: collect the node, or ingest it"
            ) from error
        return _like_ours(index, text) if index.index_id == _NAMELESS else index

    def _read_manifest(self, key: str) -> Manifest:
        try:
            return manifest_from_json(self.objects.get(key))
        except ValidationError as error:
            problem = str(error).splitlines()[0]
            raise EvidenceUnavailable(f"{key} cannot be used as a manifest ({problem})") from error

    def _nothing_indexed(self, instance_id: str) -> NotFound:
        failure = last_failure(self.state, instance_id)
        if failure is not None:
            return NotFound(
                f"no bundle of {instance_id} is indexed; the last one failed: {failure.reason}",
                hint=failure.hint or "collect the node again",
            )
        if self.folder is not None:
            refused = "".join(f"; {gap}" for gap in self.folder.gaps)
            return NotFound(
                f"no bundle of {instance_id} is indexed{refused}", hint=f"check the instance id: {self._with_bundles()}"
            )
        return NotFound(
            f"no bundle of {instance_id} is indexed",
            hint=f"check the instance id: {self._with_bundles()}; where this server offers collect, call it for the "
            "node and wait until status says completed",
        )

    def _with_bundles(self) -> str:
        found = list(islice(self.instances(), _LISTED + 1))
        more = " and others" if len(found) > _LISTED else ""
        if found:
            return f"there are bundles of {', '.join(found[:_LISTED])}{more}"
        return self.folder.emptiness if self.folder is not None else "there is no bundle of any node"


def _doubts(marker: IndexMarker, known: Sequence[IndexMarker]) -> Iterator[str]:
    """What is unproven about a bundle, or lies beside it, newer and unproven."""
    if marker.is_unproven:
        yield marker.doubt
        return
    newer = [each for each in known if each.is_unproven and each.indexed_at > marker.indexed_at]
    if newer:
        yield (
            f"a newer bundle of unproven origin is not used: {newer[0].origin_note}; "
            f"pass index_id {newer[0].index_id} to look at it"
        )


def _like_ours(index: FindingsIndex, text: bytes) -> FindingsIndex:
    """Its content names it, so that a pin never finds another index; its findings stand worst first, ids unchanged."""
    findings = tuple(sorted(index.findings, key=lambda finding: finding.severity.rank))
    return replace(index, index_id=f"v1-{hashlib.sha256(text).hexdigest()[:24]}", findings=findings)
