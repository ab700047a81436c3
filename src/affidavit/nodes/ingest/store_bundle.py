"""Store what was found in a bundle: files, then manifest, then index, then the marker that makes it all exist."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from affidavit.bundle.manifest import Manifest, ManifestFile, manifest_to_json
from affidavit.bundle.unpacked_bundle import UNKNOWN_INSTANCE, StoredBundle
from affidavit.errors import InputRefused, UpstreamFailed
from affidavit.evidence.finding import Evidence
from affidavit.index.findings_index import FindingsIndex, index_from_json, index_to_json
from affidavit.nodes.ingest.ingest_sources import Upload
from affidavit.nodes.library.indexed_bundles import FOREIGN, IndexMarker, Library, LibraryHome
from affidavit.nodes.library.object_keys import (
    EXTRACTED,
    INDEX,
    MANIFEST,
    METADATA,
    archive_key,
    home_key,
    marker_key,
    other_home,
    prefix_of,
)
from affidavit.nodes.library.upload_origin import OriginProof, Uploader, UploadOrigin, origin_of_upload
from affidavit.ports.object_store import ObjectMissing, ObjectStore

PURPOSE = "ingest"
# Writing an object is waiting: for S3, or for the disk to sync.
_WRITERS = 8


class Analyzed(Protocol):
    @property
    def manifest(self) -> Manifest: ...
    @property
    def index(self) -> FindingsIndex: ...
    @property
    def bundle(self) -> StoredBundle: ...


@dataclass(frozen=True, kw_only=True)
class Origin:
    """What is known of the node beside its bundle. Without an `uploader`, an operator brought it."""

    cluster: str | None = None
    region: str | None = None
    uploader: Uploader | None = None


@dataclass(frozen=True, kw_only=True)
class Ingested:
    """`is_new` is False when the index was there already and nothing was written."""

    marker: IndexMarker
    is_new: bool


@dataclass(frozen=True, kw_only=True)
class Filing:
    library: Library
    upload: Upload
    origin: Origin
    keeps_archive: bool

    @property
    def objects(self) -> ObjectStore:
        return self.library.objects

    def store(self, analyzed: Analyzed) -> Ingested:
        instance_id = _instance_of(analyzed, self.upload)
        index_id = analyzed.index.index_id
        brought = self._brought_by(instance_id)
        is_unproven = brought is not None and brought.proof is OriginProof.UNPROVEN
        known = self._marked(instance_id, index_id)
        if known is not None and (is_unproven or not known.is_unproven):
            return Ingested(marker=known, is_new=False)
        origin = origin_of(self.library, instance_id, self.origin)
        bundle_id = bundle_id_of(analyzed.manifest)
        # The layout that other programs know is for what the node itself brought.
        unclaimed = known.home if known is not None else other_home(instance_id, bundle_id)
        home = unclaimed if is_unproven or known is not None else _claim_home(self.library, instance_id, bundle_id)
        manifest, index = _at_home(analyzed, instance_id, home)
        self._store_files(analyzed.bundle, manifest, home, origin.region)
        index_key = self._store_index(index, home)
        marker = IndexMarker(
            instance_id=instance_id,
            index_id=index_id,
            bundle_id=bundle_id,
            home=home,
            indexed_at=self.library.clock.now(),
            manifest_key=f"{home}/{MANIFEST}",
            index_key=index_key,
            cluster=origin.cluster,
            origin=brought.proof if brought is not None else None,
            origin_note=brought.note if brought is not None else "",
            is_handed_in=brought is None and self.origin.uploader is not None,
        )
        return self._published(marker, replaces=known)

    def _published(self, marker: IndexMarker, *, replaces: IndexMarker | None) -> Ingested:
        """A marker is written once, but for one of unproven origin: the node's own word replaces it."""
        key, text = marker_key(marker.instance_id, marker.index_id), marker.model_dump_json().encode()
        if replaces is not None:
            self.objects.put(key, text, purpose=PURPOSE)
            return Ingested(marker=marker, is_new=True)
        is_new = self.objects.put_new(key, text, purpose=PURPOSE)
        return Ingested(marker=self._marked(marker.instance_id, marker.index_id) or marker, is_new=is_new)

    def _brought_by(self, instance_id: str) -> UploadOrigin | None:
        if self.origin.uploader is None:
            return None
        return origin_of_upload(instance_id, self.upload.source, self.origin.uploader)

    def _marked(self, instance_id: str, index_id: str) -> IndexMarker | None:
        try:
            return IndexMarker.model_validate_json(self.objects.get(marker_key(instance_id, index_id)))
        except ObjectMissing:
            return None

    def _store_files(self, bundle: StoredBundle, manifest: Manifest, home: str, region: str | None) -> None:
        """A home belongs to one bundle, so what a manifest there lists is stored already."""
        if self.objects.head(f"{home}/{MANIFEST}") is not None:
            return
        locations = bundle.locations
        writes = [(file.key, locations[file.relative_path]) for file in _stored_files(manifest, bundle)]
        with ThreadPoolExecutor(_WRITERS) as writers:
            list(writers.map(self._store_file, writes))
        self._store_archive(manifest.instance_id, home)
        if region is not None:
            self.objects.put(f"{home}/{METADATA}/region.txt", f"{region}\n".encode(), purpose=PURPOSE)
        self.objects.put(f"{home}/{MANIFEST}", manifest_to_json(manifest), purpose=PURPOSE)

    def _store_file(self, write: tuple[str, Path]) -> None:
        key, location = write
        self.objects.put_file(key, location, purpose=PURPOSE)

    def _store_archive(self, instance_id: str, home: str) -> None:
        path = self.upload.local(self.objects)
        target = archive_key(home, instance_id)
        if self.keeps_archive and self.upload.key != target and path.is_file():
            self.objects.put_file(target, path, purpose=PURPOSE)

    def _store_index(self, index: FindingsIndex, home: str) -> str:
        """Under its own name it never changes; under the name that everybody knows it is a copy of the newest."""
        key = f"{home}/indexes/{index.index_id}.json"
        text = index_to_json(index)
        if not self.objects.put_new(key, text, purpose=PURPOSE):
            text = self.objects.get(key)
            index_from_json(text, name=key)
        self.objects.put(f"{home}/{INDEX}", text, purpose=PURPOSE)
        return key


def origin_of(library: Library, instance_id: str, told: Origin) -> Origin:
    """What the caller did not say, as far as the directory of nodes can; a bundle is worth storing without it."""
    directory = library.directory
    if directory is None or (told.cluster is not None and told.region is not None):
        return told
    try:
        region = told.region or directory.region_of(instance_id)
        cluster = told.cluster or (directory.cluster_of(instance_id, region=region) if region is not None else None)
    except UpstreamFailed:
        return told
    return replace(told, cluster=cluster, region=region)


def bundle_id_of(manifest: Manifest) -> str:
    """The same for the same content, whatever archive it came in and whatever rules read it."""
    digest = hashlib.sha256()
    for file in sorted(manifest.expected_files, key=lambda file: file.relative_path):
        digest.update(f"{file.relative_path}\0{file.status}\0{file.sha256}\n".encode())
    digest.update("\n".join(manifest.problems).encode())
    return f"b-{digest.hexdigest()[:24]}"


def _instance_of(analyzed: Analyzed, upload: Upload) -> str:
    said, told = analyzed.index.instance_id, upload.instance_id
    if said == UNKNOWN_INSTANCE:
        raise InputRefused(
            f"neither the content nor the name of {upload.source} tells which instance it is from",
            hint="put the instance id into its name, such as i-0123456789abcdef0_bundle.tar.gz",
        )
    # A node must not be able to file its bundle under another node's name.
    if upload.key is not None and told is not None and told != said:
        raise InputRefused(
            f"{upload.source} lies under {told}, but its content is from {said}",
            hint="store it under the instance it is from, then ingest it again",
        )
    return said


def _claim_home(library: Library, instance_id: str, bundle_id: str) -> str:
    owner = library.home_of(instance_id)
    if owner is None:
        claim = LibraryHome(bundle_id=FOREIGN if _is_filled(library.objects, instance_id) else bundle_id)
        library.objects.put_new(home_key(instance_id), claim.model_dump_json().encode(), purpose=PURPOSE)
        owner = library.home_of(instance_id) or claim
    return prefix_of(instance_id) if owner.bundle_id == bundle_id else other_home(instance_id, bundle_id)


def _is_filled(objects: ObjectStore, instance_id: str) -> bool:
    """Whether another program, which claims nothing, stored a bundle there before us."""
    own = prefix_of(instance_id)
    if any(objects.head(f"{own}/{name}") is not None for name in (MANIFEST, INDEX)):
        return True
    return next(iter(objects.list(f"{own}/{EXTRACTED}/")), None) is not None


def _at_home(analyzed: Analyzed, instance_id: str, home: str) -> tuple[Manifest, FindingsIndex]:
    """Manifest and index with the keys under which the bytes really lie."""
    own = f"{analyzed.bundle.prefix}/"

    def moved(key: str) -> str:
        return f"{home}/{key.removeprefix(own)}"

    def cited(evidence: Evidence) -> Evidence:
        return replace(evidence, full_key=moved(evidence.full_key))

    manifest, index = analyzed.manifest, analyzed.index
    files = tuple(replace(file, key=moved(file.key)) for file in manifest.expected_files)
    return replace(manifest, instance_id=instance_id, expected_files=files), replace(
        index,
        instance_id=instance_id,
        manifest_ref=f"{home}/{MANIFEST}",
        findings=tuple(replace(finding, evidence=cited(finding.evidence)) for finding in index.findings),
        suppressed=tuple(replace(entry, evidence=cited(entry.evidence)) for entry in index.suppressed),
    )


def _stored_files(manifest: Manifest, bundle: StoredBundle) -> list[ManifestFile]:
    return [file for file in manifest.expected_files if file.relative_path in bundle.locations]
