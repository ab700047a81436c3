"""Assembles the index: findings, coverage, gaps and its content id."""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from affidavit.bundle.byte_range_reader import head_of
from affidavit.bundle.unpack import UnpackedFile
from affidavit.bundle.unpacked_bundle import UNKNOWN_INSTANCE, StoredBundle
from affidavit.errors import InvariantBroken
from affidavit.evidence.confidence import confidence
from affidavit.evidence.coverage import Coverage, SkippedFile, SkipReason, cover
from affidavit.evidence.finding import EXCERPT_CHARACTERS, Finding
from affidavit.evidence.utf16 import text_of
from affidavit.index.clock_and_checks import Survey
from affidavit.index.content_id import bundle_digest, content_id
from affidavit.index.faults.hit_groups import ScannedText
from affidavit.index.findings_from_checks import measured_fact, measured_finding
from affidavit.index.findings_from_hits import Built, build_findings
from affidavit.index.findings_index import (
    INDEX_VERSION,
    INDEXER_VERSION,
    ClockNote,
    FindingsIndex,
    index_document,
    summarize,
)
from affidavit.index.scanning.parts import ScannedFile
from affidavit.index.scanning.rule_matching import RuleSlots
from affidavit.index.scanning.scan import LONGEST_LINE
from affidavit.index.times.bundle_clock import BundleClock
from affidavit.index.times.timestamps import StampKind, stamp_of
from affidavit.knowledge import Knowledge
from affidavit.verdict.conclude import VerdictInput, conclude
from affidavit.verdict.graph_sample_checks import known_graph

REST_OF_ARCHIVE = "(rest of the archive)"
# The collector keeps the last 100 MB of these.
_TAILED = 100_000_000
_EVENTS = ".evtx"
_EVENTS_AS_TEXT = "eventlogs.csv"
_TAILED_LOGS = ("var_log/messages", "var_log/syslog")
# A verdict looks at no more of a line.
_LONGEST_READ = 16 << 10
# A kernel log that begins later than this after boot has lost its beginning.
_RING_START = 60 * 1_000_000


def assemble_index(
    bundle: StoredBundle,
    surveyed: Survey,
    scanned: Mapping[str, ScannedFile],
    slots: RuleSlots,
    knowledge: Knowledge,
    *,
    started: float,
) -> FindingsIndex:
    """`started` is the monotonic time at which the work began."""
    clock, checked = surveyed.clock, surveyed.checked
    texts = [_scanned_text(bundle, file, scanned) for file in bundle.files if _was_scanned(file, scanned)]
    keys = {file.path: bundle.key_of(file) for file in bundle.files}
    measured = [measured_finding(keys[each.path], bundle.locations[each.path], each) for each in checked.shown]
    built = build_findings(texts, slots.table, clock, measured)
    coverage = _coverage(bundle, scanned)
    # An archive inside the bundle may tell the same as its only file.
    gaps = tuple(dict.fromkeys((*_gaps(bundle, scanned, clock, built), *checked.gaps)))
    index = FindingsIndex(
        version=INDEX_VERSION,
        index_id="",
        rules_version=knowledge.version,
        instance_id=bundle.instance_id,
        indexed_at=datetime.now(UTC),
        manifest_ref=f"{bundle.prefix}/manifest.json",
        indexing_duration_ms=round((time.monotonic() - started) * 1000),
        coverage=coverage,
        findings=built.findings,
        suppressed=built.suppressed,
        summary=summarize(built.findings),
        clock=ClockNote(
            collected_at=clock.collected_at,
            collected_from=clock.collected_from,
            booted_at=clock.booted_at,
            booted_from=clock.booted_from,
        ),
        gaps=gaps,
        verdict=conclude(
            VerdictInput(
                findings=built.findings,
                files=frozenset(bundle.locations),
                collected_at=clock.collected_at,
                booted_at=clock.booted_at,
                confidence=confidence(coverage, built.findings, gaps),
                facts=[measured_fact(keys[each.path], bundle.locations[each.path], each) for each in surveyed.facts],
                first_steps={rule.id: rule.first_steps[0] for rule in knowledge.rules},
                lines=dict(_long_lines(built.findings, bundle)),
            ),
            known_graph(),
        ),
        indexer_version=INDEXER_VERSION,
        bundle_digest=bundle_digest(bundle.files),
    )
    return replace(index, index_id=content_id(index_document(index)))


def _long_lines(findings: Iterable[Finding], bundle: StoredBundle) -> Iterator[tuple[str, str]]:
    """Lines that are longer than what is quoted of them, by finding."""
    for finding in findings:
        span, quoted = finding.evidence.byte_offset, finding.evidence.excerpt
        if span is not None and len(quoted) == EXCERPT_CHARACTERS:
            length = min(span.end - span.start, _LONGEST_READ)
            with bundle.locations[finding.evidence.source_file].open("rb") as file:
                file.seek(span.start)
                yield finding.finding_id, text_of(file.read(length))


def _was_scanned(file: UnpackedFile, scanned: Mapping[str, ScannedFile]) -> bool:
    return file.path in scanned and not scanned[file.path].failure


def _scanned_text(bundle: StoredBundle, file: UnpackedFile, scanned: Mapping[str, ScannedFile]) -> ScannedText:
    if file.location is None:
        raise InvariantBroken(f"{file.path} was scanned and is nowhere")
    return ScannedText(
        path=file.path,
        full_key=bundle.key_of(file),
        location=file.location,
        hits=scanned[file.path].hits,
        role=file.role,
    )


def _coverage(bundle: StoredBundle, scanned: Mapping[str, ScannedFile]) -> Coverage:
    sizes: list[int] = []
    skipped: list[SkippedFile] = []
    for file in bundle.files:
        reason = _skip_reason(file, scanned)
        if reason is SkipReason.BINARY and file in _unread_events(bundle):
            reason = SkipReason.UNREADABLE
        if reason is None:
            sizes.append(file.size)
        else:
            skipped.append(SkippedFile(file=file.path, reason=reason, size_bytes=file.size))
    if bundle.problems:
        skipped.append(SkippedFile(file=REST_OF_ARCHIVE, reason=SkipReason.UNREADABLE, size_bytes=0))
    return cover(scanned_sizes=sizes, skipped=skipped)


def _skip_reason(file: UnpackedFile, scanned: Mapping[str, ScannedFile]) -> SkipReason | None:
    if file.skip is not None:
        return file.skip
    result = scanned.get(file.path)
    if result is None or result.failure:
        return SkipReason.UNREADABLE
    return SkipReason.TOO_LARGE if result.oversized else None


def _unread_events(bundle: StoredBundle) -> list[UnpackedFile]:
    """Event logs of Windows that are there in their binary form alone. The collector also writes them as CSV."""
    if any(file.path.endswith(_EVENTS_AS_TEXT) for file in bundle.files):
        return []
    return [file for file in bundle.files if file.path.endswith(_EVENTS)]


def _gaps(bundle: StoredBundle, scanned: Mapping[str, ScannedFile], clock: BundleClock, built: Built) -> Iterator[str]:
    # A member that was dropped half-way may have been scanned in part: it is listed with its own reason.
    scanned = {path: result for path, result in scanned.items() if path in bundle.locations}
    yield from bundle.problems
    yield from (f"{file.path}: {file.reason}" for file in bundle.files if file.reason is not None)
    yield from (
        f"{file.path}: its content is of no known log, so at most general rules were applied"
        for file in bundle.files
        if file.skip is SkipReason.NOT_RECOGNISED
    )
    yield from (
        f"{file.path}: it is compressed in a form that is not read"
        for file in bundle.files
        if file.skip is SkipReason.COMPRESSION
    )
    yield from (
        f"{file.path}: an event log in its binary form is not read: export it with Get-WinEvent | Export-Csv"
        for file in _unread_events(bundle)
    )
    yield from (f"{path}: not scanned: {result.failure}" for path, result in sorted(scanned.items()) if result.failure)
    for path, result in sorted(scanned.items()):
        if result.oversized:
            yield f"{path}: {result.oversized} lines longer than {LONGEST_LINE >> 20} MiB were not looked at"
    if bundle.instance_id == UNKNOWN_INSTANCE:
        yield "neither the bundle's name nor its content tells the instance id"
    yield from clock.gaps
    yield from _lost_beginnings(bundle)
    for path, count in sorted(built.untimed.items()):
        yield f"{path}: {count} matching lines have no time that can be read{_boot_hint(path, clock)}"


def _boot_hint(path: str, clock: BundleClock) -> str:
    return " (the bundle does not show when the node booted)" if "dmesg" in path and clock.booted_at is None else ""


def _lost_beginnings(bundle: StoredBundle) -> Iterator[str]:
    for file in bundle.files:
        if file.path.endswith(_TAILED_LOGS) and file.size >= _TAILED:
            yield f"{file.path}: the collector keeps only the last 100 MB, older lines are missing"
        if file.path.endswith("dmesg.current") and (start := _first_stamp(file)) is not None and start > _RING_START:
            yield f"{file.path}: begins {start // 1_000_000} s after boot, earlier kernel lines were overwritten"


def _first_stamp(file: UnpackedFile) -> int | None:
    if file.location is None:
        return None
    clock, value = stamp_of(head_of(file.location, 4096).partition(b"\n")[0])
    return value if clock is StampKind.SINCE_BOOT else None
