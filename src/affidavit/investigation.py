"""START HERE: the flow of Affidavit.

    collection ─▶ bundle ─▶ index ─▶ questions ─▶ agent ─▶ diagnosis ─▶ verification ─▶ incident store ─▶ people

This module is the middle of it, and all that a person with a bundle needs: a bundle is unpacked while its files are
scanned; hits become findings with byte-exact evidence; the index says what was looked at and what was not. `verify`
re-reads an index's evidence from the bundle and believes nothing else.

The other steps, each short and readable from its first function:
- `collection.collect.collect` asks a node for its bundle, never twice for one token;
- `nodes.ingest.ingest` puts an analyzed bundle where questions find it (`nodes.questions`: errors, search, read, …);
- `incidents.supervisor.Supervisor.receive` takes an alert, once, has it investigated and stores what verifies;
- `agent.run.ChatDiagnostician.investigate` asks a chat model, or `agent.rules` where there is none;
- `verification.verify.verify` is the verdict on a diagnosis, from recorded answers and stored bytes alone.
"""

import time
from dataclasses import dataclass
from pathlib import Path

from affidavit.bundle.digests import FileDigests
from affidavit.bundle.limits import Limits
from affidavit.bundle.manifest import Manifest
from affidavit.bundle.opening import open_bundle
from affidavit.bundle.stored import StoredBundle, manifest_of, stored_bundle
from affidavit.bundle.unpack import Progress, Watcher, unpack
from affidavit.evidence.citation import Check, check
from affidavit.evidence.finding import Finding, Suppressed
from affidavit.index.assemble import assemble_index
from affidavit.index.crew import Crew
from affidavit.index.record import FindingsIndex
from affidavit.index.scan import ScannedFile
from affidavit.index.slots import slots_of
from affidavit.index.survey import survey
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
    check: Check


def analyze(
    path: Path,
    *,
    knowledge: Knowledge,
    workspace: Path,
    progress: Progress,
    workers: int,
    limits: Limits | None = None,
    name: str | None = None,
) -> Analysis:
    """Unpack, scan and index a bundle. `workspace` is an empty folder of ours; it receives the files."""
    started = time.monotonic()
    limits = limits or Limits()
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


def verify(
    index: FindingsIndex, path: Path, *, workspace: Path, progress: Progress, limits: Limits | None = None
) -> list[VerifiedFinding]:
    """Re-read every piece of evidence of an index from the bundle, with no rules and no engine."""
    limits = limits or Limits()
    with open_bundle(path, limits=limits) as opened:
        unpacked = unpack(
            opened.source, into=workspace / EXTRACTED, limits=limits, watcher=_Nobody(), progress=progress
        )
    bundle = stored_bundle(opened.name, unpacked)
    entries = (*index.findings, *index.suppressed)
    return [VerifiedFinding(finding=entry, check=check(entry.evidence, bundle)) for entry in entries]


class _Nobody(Watcher):
    def grown(self, path: str, location: Path, size: int) -> None:
        pass

    def finished(self, path: str, location: Path, size: int) -> None:
        pass
