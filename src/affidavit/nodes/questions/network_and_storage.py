"""`network_diagnostics` and `storage_diagnostics`: checks each part of a node, if the bundle shows it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, BinaryIO

import re2
from pydantic import BaseModel, ConfigDict, TypeAdapter

from affidavit.bundle.file_roles import glob_pattern
from affidavit.bundle.manifest import FileStatus, ManifestFile
from affidavit.errors import EvidenceUnavailable
from affidavit.evidence.confidence import confidence
from affidavit.evidence.coverage import Coverage, SkippedFile, SkipReason, cover
from affidavit.evidence.finding import Evidence, FaultState, Finding
from affidavit.evidence.severity import Severity
from affidavit.matching.pattern_language import byte_options
from affidavit.nodes.library.indexed_bundles import Library, Shelf
from affidavit.nodes.questions.file_listing import files_of
from affidavit.nodes.search.line_evidence import clock_of, evidence_of
from affidavit.nodes.search.located_lines import LineSpan
from affidavit.nodes.wire.network_and_storage import CheckStatus, DiagnosticCheck, DiagnosticsAnswer, DiagnosticsRequest
from affidavit.nodes.wire.shared_fields import trust_in_form
from affidavit.wire.byte_budget import fit, more_bytes
from affidavit.wire.records import again, cut
from affidavit.yaml_loading import load_yaml

CAVEAT = (
    "The state when the bundle was made, as far as the bundle shows it. A pass says that what was read shows no known "
    "fault, not that there is none; not_available is no pass."
)
_QUOTED = 5
# Finding ids and files listed of one check.
_LISTED = 10
_GRAVITY = (CheckStatus.FAIL, CheckStatus.WARN, CheckStatus.NOT_AVAILABLE, CheckStatus.PASS)
# A longer line tells no state.
_LONGEST = 1 << 20


class Area(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    check: str
    reads: tuple[str, ...]
    shows: str
    rules: tuple[str, ...] = ()
    signals: tuple[str, ...] = ()
    agrees: bool = False

    def concerns(self, finding: Finding) -> bool:
        return finding.rule in self.rules or finding.signal in self.signals

    def reads_file(self, path: str) -> bool:
        return any(glob_pattern(glob).fullmatch(path) for glob in self.reads)


@cache
def known_areas() -> dict[str, tuple[Area, ...]]:
    text = files("affidavit.nodes.questions").joinpath("network_storage.yaml").read_text("utf-8")
    loaded = load_yaml(text)
    return TypeAdapter(dict[str, tuple[Area, ...]]).validate_python(loaded)


def network_diagnostics(library: Library, request: DiagnosticsRequest) -> DiagnosticsAnswer:
    return _diagnosed(library, request, known_areas()["network"], "network_diagnostics")


def storage_diagnostics(library: Library, request: DiagnosticsRequest) -> DiagnosticsAnswer:
    return _diagnosed(library, request, known_areas()["storage"], "storage_diagnostics")


def _diagnosed(library: Library, request: DiagnosticsRequest, areas: Sequence[Area], tool: str) -> DiagnosticsAnswer:
    shelf = library.open(request.instance_id, request.index_id)
    listed = files_of(library, shelf.marker)
    chosen = {file.relative_path: file for file in listed if any(area.reads_file(file.relative_path) for area in areas)}
    reader = _StateReader(library, shelf, chosen)
    checks = [reader.check(area) for area in areas]
    involved = [finding for finding in shelf.index.findings if any(area.concerns(finding) for area in areas)]
    unseen = [f"{each.check}: {each.detail}" for each in checks if each.status is CheckStatus.NOT_AVAILABLE]
    coverage = reader.coverage()
    trust = trust_in_form(confidence(coverage, involved, [*unseen, *shelf.index.gaps]))
    total = sum(len(each.evidence) for each in checks)

    def with_lines(most: int) -> DiagnosticsAnswer:
        longer = again(tool, request, index_id=shelf.index.index_id, max_bytes=more_bytes(request.max_bytes))
        info = cut(total, most, "lines that show a check are left out: raise max_bytes", longer)
        return DiagnosticsAnswer(
            instance_id=request.instance_id,
            index_id=shelf.index.index_id,
            checks=_quoting(checks, most),
            confidence=trust,
            caveat=CAVEAT,
            coverage_report=coverage,
            truncated=info is not None,
            truncation_info=info,
        )

    return fit(with_lines, total, request.max_bytes)


def _quoting(checks: Sequence[DiagnosticCheck], most: int) -> list[DiagnosticCheck]:
    """Keeps `most` lines in all: one line for every check before a second for any, failed checks first."""
    order = sorted(
        (
            (number, _GRAVITY.index(check.status), at)
            for at, check in enumerate(checks)
            for number in range(len(check.evidence))
        ),
    )
    kept = Counter(at for _, _, at in order[:most])
    return [check.model_copy(update={"evidence": check.evidence[: kept[at]]}) for at, check in enumerate(checks)]


class _StateReader:
    """Opens each file once and remembers which could not be read."""

    def __init__(self, library: Library, shelf: Shelf, chosen: dict[str, ManifestFile]) -> None:
        self._library = library
        self._shelf = shelf
        self._chosen = chosen
        self._opened = {path: self._open(file) for path, file in chosen.items()}

    def check(self, area: Area) -> DiagnosticCheck:
        found = [finding for finding in self._shelf.index.findings if area.concerns(finding)]
        worst = _outcome(found)
        read = [path for path in self._chosen if area.reads_file(path) and self._opened[path] is not None]
        if worst in (CheckStatus.FAIL, CheckStatus.WARN):
            named = "; ".join(f"{finding.finding_id} {finding.pattern}" for finding in found[:_QUOTED])
            named += f"; and {len(found) - _QUOTED} more" if len(found) > _QUOTED else ""
            return _checked(area, worst, named, found, [finding.evidence for finding in found[:_QUOTED]], read)
        quoted, values = self._shown(area, read)
        if not quoted:
            return _checked(area, CheckStatus.NOT_AVAILABLE, self._why_not(area, read), found, [], read)
        if area.agrees and len(values) > 1:
            detail = f"interfaces differ: {', '.join(sorted(values))}"
            return _checked(area, CheckStatus.WARN, detail, found, quoted, read)
        return _checked(area, CheckStatus.PASS, "no known fault in what was read", found, quoted, read)

    def coverage(self) -> Coverage:
        sizes = [file.size_bytes for path, file in self._chosen.items() if self._opened[path] is not None]
        lost = [file for path, file in self._chosen.items() if self._opened[path] is None]
        skipped = [
            SkippedFile(file=file.relative_path, reason=SkipReason.UNREADABLE, size_bytes=file.size_bytes)
            for file in lost
        ]
        return cover(scanned_sizes=sizes, skipped=skipped)

    def _why_not(self, area: Area, read: Sequence[str]) -> str:
        lost = [path for path in self._chosen if area.reads_file(path) and path not in read]
        said = [f"{', '.join(read)} does not show it"] if read else []
        said += [f"{', '.join(lost)} cannot be read"] if lost else []
        return "; ".join(said) or f"the bundle has none of {', '.join(area.reads)}"

    def _open(self, file: ManifestFile) -> Path | None:
        if file.status is not FileStatus.EXTRACTED:
            return None
        try:
            return self._shelf.lines.location(file.key)
        except EvidenceUnavailable:
            return None

    def _shown(self, area: Area, read: Sequence[str]) -> tuple[list[Evidence], set[str]]:
        """Lines that say how things are, and the values they must agree on."""
        pattern = re2.compile(area.shows.encode("ascii"), byte_options())
        quoted: list[Evidence] = []
        values: set[str] = set()
        for path in read:
            location = self._opened[path]
            if location is None:
                continue
            room = _QUOTED - len(quoted)
            spans, seen = _matching(pattern, location, room, to_the_end=area.agrees)
            values |= seen
            key, clock = self._chosen[path].key, clock_of(self._shelf.index.clock)
            quoted.extend(evidence_of(path, key, location, spans, clock, self._library.line_indexes))
        return quoted, values


def _matching(pattern: Any, location: Path, most: int, *, to_the_end: bool) -> tuple[list[LineSpan], set[str]]:
    """Returns the first matching lines and their values; reads the whole file where all lines must agree."""
    spans: list[LineSpan] = []
    values: set[str] = set()
    with location.open("rb") as file:
        for start, line in _lines(file):
            if len(spans) >= most and not to_the_end:
                break
            bare = line.removesuffix(b"\n").removesuffix(b"\r")
            if (found := pattern.search(bare)) is not None:
                spans.append((start, start + len(bare)))
                values.update(group.decode("ascii", "replace") for group in found.groups() if group is not None)
    return spans[:most], values


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yields each line with its offset. Very long lines are left out."""
    start = 0
    while line := file.readline(_LONGEST):
        size, piece = len(line), line
        while not piece.endswith(b"\n") and (piece := file.readline(_LONGEST)):
            size += len(piece)
        if size == len(line):
            yield start, line
        start += size


def _outcome(findings: Sequence[Finding]) -> CheckStatus:
    """A grave fault that is over is a warning."""
    live = [finding for finding in findings if finding.severity is not Severity.INFO]
    if any(
        finding.severity.rank <= Severity.HIGH.rank and finding.state is not FaultState.RECOVERED for finding in live
    ):
        return CheckStatus.FAIL
    return CheckStatus.WARN if live else CheckStatus.PASS


def _checked(
    area: Area,
    status: CheckStatus,
    detail: str,
    findings: Sequence[Finding],
    evidence: Sequence[Evidence],
    read: Sequence[str],
) -> DiagnosticCheck:
    return DiagnosticCheck(
        check=area.check,
        status=status,
        detail=detail,
        finding_ids=[finding.finding_id for finding in findings[:_LISTED]],
        evidence=list(evidence),
        files=list(read[:_LISTED]),
    )
