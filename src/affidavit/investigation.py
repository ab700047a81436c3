"""START HERE: analyzes a bundle and verifies an index. The flow of Affidavit around it:

    collection ─▶ bundle ─▶ index ─▶ questions ─▶ agent ─▶ diagnosis ─▶ verification ─▶ incident store ─▶ people

This module is the middle of it, and all that a person with a bundle needs: a bundle is unpacked while its files are
scanned; hits become findings with byte-exact evidence; the index says what was looked at and what was not. `verify`
derives an index again from its bundle and names every claim that does not hold.

The other steps, each short and readable from its first function:
- `collection.collect.collect` asks a node for its bundle, never twice for one token;
- `nodes.ingest.bundle_intake.ingest` puts an analyzed bundle where questions find it (`nodes.questions`: errors, …);
- `incidents.supervisor.Supervisor.receive` takes an alert, once, has it investigated and stores what verifies;
- `agent.run.ChatDiagnostician.investigate` asks a chat model, or `agent.rules` where there is none;
- `verification.pointer_check.verify` is the verdict on a diagnosis, from recorded answers and stored bytes alone.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from affidavit.bundle.digests import FileDigests
from affidavit.bundle.manifest import Manifest
from affidavit.bundle.safety.limits import UnpackLimits
from affidavit.bundle.sources.opening import open_bundle
from affidavit.bundle.unpack import UnpackProgress, unpack
from affidavit.bundle.unpacked_bundle import StoredBundle, manifest_of, stored_bundle
from affidavit.evidence.citation_check import CitationCheck
from affidavit.evidence.finding import Finding, Suppressed
from affidavit.index.assemble import assemble_index
from affidavit.index.claim_differences import differences, manifest_differences
from affidavit.index.clock_and_checks import survey
from affidavit.index.content_id import content_id
from affidavit.index.findings_index import INDEXER_VERSION, VERSION_1, FindingsIndex, index_from_json, index_json
from affidavit.index.redacted import check_redacted
from affidavit.index.scanning.crew import Crew
from affidavit.index.scanning.parts import ScannedFile
from affidavit.index.scanning.rule_matching import slots_of
from affidavit.knowledge import Knowledge

EXTRACTED = "extracted"


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """`bundle` reads the files as long as the workspace they were unpacked to exists.

    `read` are the paths of all files that were scanned in full; the index lists only some of the others.
    """

    manifest: Manifest
    index: FindingsIndex
    bundle: StoredBundle
    read: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class VerifiedFinding:
    finding: Finding | Suppressed
    check: CitationCheck


def analyze(
    path: Path | Sequence[Path],
    *,
    knowledge: Knowledge,
    workspace: Path,
    progress: UnpackProgress,
    workers: int,
    limits: UnpackLimits | None = None,
    name: str | None = None,
) -> Analysis:
    """Unpack, scan and index a bundle, or logs. `workspace` is an empty folder of ours; it receives the files."""
    started = time.monotonic()
    limits = limits or UnpackLimits()
    slots = slots_of(knowledge.pack)
    with open_bundle(path, limits=limits, name=name) as opened, Crew(slots, workers - 1) as crew:
        digests = FileDigests(opened.archive) if opened.archive is not None else None
        unpacked = unpack(opened.source, into=workspace / EXTRACTED, limits=limits, watcher=crew, progress=progress)
        unpacking = time.monotonic() - started
        bundle = stored_bundle(opened.name, unpacked)
        # The scan is still at it.
        surveyed = survey(bundle, knowledge)
        scanned = crew.results()
    index = assemble_index(bundle, surveyed, scanned, slots, knowledge, started=started)
    manifest = manifest_of(
        bundle,
        archive=opened.archive,
        digests=digests.wait() if digests is not None else None,
        seconds=unpacking,
    )
    read = frozenset(file.path for file in bundle.files if file.is_scanned and _is_whole(scanned.get(file.path)))
    return Analysis(manifest=manifest, index=index, bundle=bundle, read=read)


def _is_whole(result: ScannedFile | None) -> bool:
    return result is not None and result.is_whole


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What a second look at the bundle says about an index.

    `fallen` are claims that do not hold, the first one first. `unproven` says what could not be derived again, and why.
    """

    evidence: tuple[VerifiedFinding, ...]
    fallen: tuple[str, ...] = ()
    unproven: str = ""
    is_other_bundle: bool = False
    archive_sha256: str | None = None

    @property
    def broken(self) -> tuple[VerifiedFinding, ...]:
        return tuple(entry for entry in self.evidence if not entry.check.holds)

    @property
    def holds(self) -> bool:
        return not self.broken and not self.fallen and not self.is_other_bundle


def verify(
    text: bytes,
    path: Path,
    *,
    knowledge: Knowledge,
    workspace: Path,
    progress: UnpackProgress,
    workers: int = 1,
    manifest: Manifest | None = None,
    name: str = "the index",
) -> Verification:
    """Check an index against its bundle: every piece of evidence, then everything else by deriving it again.

    `text` is the index as it is stored, `manifest` the one that was stored with it.
    """
    index, document = index_from_json(text, name=name), index_json(text)
    derived = _derived(index, path, manifest, knowledge, workspace, progress, workers)
    entries = (*index.findings, *index.suppressed)
    evidence = tuple(
        VerifiedFinding(finding=entry, check=check_redacted(entry.evidence, derived.bundle)) for entry in entries
    )
    is_changed = index.bundle_digest not in (None, derived.index.bundle_digest)
    # A file that was changed breaks what it showed. Another bundle breaks most; a line or two may stand in both.
    if is_changed and 2 * sum(each.check.holds for each in evidence) <= len(evidence):
        return Verification(evidence=evidence, is_other_bundle=True)
    fallen = () if index.rules_version == VERSION_1 else tuple(_fallen(document, index, derived, manifest, knowledge))
    return Verification(
        evidence=evidence,
        fallen=fallen,
        unproven=_unproven(index, knowledge),
        archive_sha256=derived.manifest.source_archive_sha256,
    )


def _derived(
    index: FindingsIndex,
    path: Path,
    manifest: Manifest | None,
    knowledge: Knowledge,
    workspace: Path,
    progress: UnpackProgress,
    workers: int,
) -> Analysis:
    """Under its own name; where that tells another node or time, under the name that the manifest gives it."""
    own, named = workspace / "own", workspace / "named"
    for folder in (own, named):
        folder.mkdir()
    found = analyze(path, knowledge=knowledge, workspace=own, progress=progress, workers=workers)
    is_same = (found.index.instance_id, found.index.clock) == (index.instance_id, index.clock)
    if is_same or manifest is None or manifest.source_archive == found.bundle.name:
        return found
    earlier = manifest.source_archive
    return analyze(path, knowledge=knowledge, workspace=named, progress=progress, workers=workers, name=earlier)


def _fallen(
    document: dict[str, Any], index: FindingsIndex, derived: Analysis, manifest: Manifest | None, knowledge: Knowledge
) -> Iterator[str]:
    if not _unproven(index, knowledge):
        yield from differences(document, derived.index)
    elif index.bundle_digest not in (None, derived.index.bundle_digest):
        yield "bundle_digest: the files are not those that the index was made from"
    if manifest is not None:
        yield from manifest_differences(manifest, derived.manifest)
        if manifest.instance_id != index.instance_id:
            yield f"manifest: instanceId is {manifest.instance_id}, the index is about {index.instance_id}"
    if index.bundle_digest is not None and content_id(document) != index.index_id:
        yield f"index_id: {index.index_id} is not the id of this content; it was changed after it was written"


def _unproven(index: FindingsIndex, knowledge: Knowledge) -> str:
    """What cannot be derived again with the rules and the program at hand."""
    if index.rules_version != knowledge.version:
        return f"its rule pack {index.rules_version} is not at hand (here: {knowledge.version})"
    if index.indexer_version != INDEXER_VERSION:
        made_by = index.indexer_version or "an earlier one"
        return f"it was made by indexer version {made_by} (here: {INDEXER_VERSION})"
    return ""
