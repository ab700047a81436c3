"""`search`: a regular expression over every text file of a bundle, of any size."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from affidavit.bundle.file_roles import component_of, glob_pattern, role_of
from affidavit.bundle.log_envelopes import unwrapped
from affidavit.bundle.manifest import FileStatus, FileType, ManifestFile
from affidavit.errors import EvidenceUnavailable, InputRefused
from affidavit.evidence.coverage import Coverage, SkippedFile, SkipReason, cover
from affidavit.evidence.finding import Evidence, Finding
from affidavit.evidence.severity import Severity
from affidavit.nodes.library.indexed_bundles import Library, Shelf
from affidavit.nodes.questions.file_listing import files_of
from affidavit.nodes.search.line_evidence import clock_of, evidence_of
from affidavit.nodes.search.past_searches import KeptResult, KeptSearch, keep_search, search_id_of
from affidavit.nodes.search.queries import compile_query
from affidavit.nodes.search.redacted_line_matching import scan_redacted
from affidavit.nodes.search.scanning import FileMatches
from affidavit.nodes.wire.finding import ConciseFinding
from affidavit.nodes.wire.search import MatchRecord, SearchAnswer, SearchRequest, SearchResult
from affidavit.nodes.wire.shared_fields import ResponseFormat, coverage_in_form, gaps_in_form
from affidavit.wire.byte_budget import fit, more_bytes
from affidavit.wire.records import TruncationInfo, again, cut

# Lines located in one search, whatever the number of files: beyond it, each file still has its first line and count.
MOST_LINES = 2000
CONCISE_QUERY = 80
CONCISE_EXCERPT = 120


@dataclass(frozen=True, kw_only=True)
class _Searched:
    """`location` is None when the file could not be searched, for `skip`."""

    file: ManifestFile
    location: Path | None
    skip: SkipReason | None = None
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class _Match:
    file: ManifestFile
    count: int
    lines: list[Evidence]


def search(library: Library, request: SearchRequest) -> SearchAnswer:
    query = compile_query(request.query)
    shelf = library.open(request.instance_id, request.index_id)
    searched = [_opened(shelf, file) for file in _selected(files_of(library, shelf.marker), request.log_types)]
    readable = [(each.file, each.location) for each in searched if each.location is not None]
    scanned = scan_redacted(query, [location for _, location in readable], request.max_results, library.hidden)
    failed = {file.key: found.failure for (file, _), found in zip(readable, scanned, strict=True) if found.failure}
    kept = _kept(shelf, request, _located(library, shelf, readable, scanned))
    keep_search(library, kept)
    answering = _Answering(
        request=request, kept=kept, coverage=_coverage(searched, failed), gaps=_gaps(searched, failed)
    )
    return fit(answering.with_lines, answering.lines, request.max_bytes, least=min(1, answering.lines))


def _selected(files: Sequence[ManifestFile], types: list[str] | None) -> Sequence[ManifestFile]:
    if not types:
        return files
    unused = [wanted for wanted in types if not any(_is_of_type(file, wanted) for file in files)]
    if unused:
        known = sorted({component for file in files for component in role_of(file.read_as).holds})
        raise InputRefused(
            f"no file of the bundle is of log type {', '.join(map(ascii, unused))}",
            hint=f"components here: {', '.join(known)}; or give a folder or a glob; list_bundle_files shows all paths",
        )
    return [file for file in files if any(_is_of_type(file, wanted) for wanted in types)]


def _is_of_type(file: ManifestFile, wanted: str) -> bool:
    path = file.relative_path
    if wanted in role_of(file.read_as).holds or wanted.strip("/") in path.split("/"):
        return True
    return glob_pattern(wanted).fullmatch(path) is not None


def _opened(shelf: Shelf, file: ManifestFile) -> _Searched:
    if file.status is not FileStatus.EXTRACTED:
        problem = f"{file.relative_path}: {file.reason or 'it is not stored'}"
        return _Searched(file=file, location=None, skip=SkipReason.UNREADABLE, problem=problem)
    if file.file_type is FileType.BINARY:
        return _Searched(file=file, location=None, skip=SkipReason.BINARY)
    try:
        return _Searched(file=file, location=shelf.lines.location(file.key))
    except EvidenceUnavailable as error:
        problem = f"{file.relative_path}: {error}"
        return _Searched(file=file, location=None, skip=SkipReason.UNREADABLE, problem=problem)


def _located(
    library: Library, shelf: Shelf, readable: Sequence[tuple[ManifestFile, Path]], scanned: Sequence[FileMatches]
) -> list[_Match]:
    clock = clock_of(shelf.index.clock)
    room = MOST_LINES
    matches: list[_Match] = []
    for (file, location), found in zip(readable, scanned, strict=True):
        if not found.count:
            continue
        spans = found.spans[: max(1, room)]
        room -= len(spans)
        lines = evidence_of(file.relative_path, file.key, location, spans, clock, library.line_indexes)
        matches.append(_Match(file=file, count=found.count, lines=lines))
    return matches


def _kept(shelf: Shelf, request: SearchRequest, matches: Sequence[_Match]) -> KeptSearch:
    severities = _severities(shelf.index.findings)
    ranked = sorted(matches, key=lambda match: (_severity_of(match, severities).rank, match.file.relative_path))
    question = (request.query, sorted(request.log_types or ()), request.max_results)
    return KeptSearch(
        search_id=search_id_of(shelf.index.index_id, *question),
        instance_id=request.instance_id,
        index_id=shelf.index.index_id,
        query=request.query,
        results=tuple(_result(number, match, severities) for number, match in enumerate(ranked, 1)),
    )


def _result(number: int, match: _Match, severities: dict[str, dict[int, Severity]]) -> KeptResult:
    first = match.lines[0]
    return KeptResult(
        finding_id=f"S-{number:03d}",
        severity=_severity_of(match, severities),
        component=component_of(unwrapped(first.excerpt.encode()), role_of(match.file.read_as)),
        count=match.count,
        evidence=first,
        others=tuple(match.lines[1:]),
    )


def _severity_of(match: _Match, severities: dict[str, dict[int, Severity]]) -> Severity:
    known = severities.get(match.file.relative_path, {})
    worst = [known[line.line_range.start] for line in match.lines if line.line_range and line.line_range.start in known]
    return min(worst, key=lambda severity: severity.rank, default=Severity.INFO)


def _severities(findings: Sequence[Finding]) -> dict[str, dict[int, Severity]]:
    """Of the lines that findings list, by file; the worst first, so that it stays."""
    found: dict[str, dict[int, Severity]] = {}
    for finding in findings:
        lines = found.setdefault(finding.evidence.source_file, {})
        if finding.evidence.line_range is not None:
            lines.setdefault(finding.evidence.line_range.start, finding.severity)
        for occurrence in finding.additional_occurrences:
            lines.setdefault(occurrence.line, finding.severity)
    return found


@dataclass(frozen=True, kw_only=True)
class _Answering:
    request: SearchRequest
    kept: KeptSearch
    coverage: Coverage
    gaps: Sequence[str]

    @property
    def lines(self) -> int:
        """How many can be listed: a concise row has one line of its file."""
        results = self.kept.results
        return len(results) + sum(len(result.others) for result in results) * self._is_detailed

    @property
    def _is_detailed(self) -> bool:
        return self.request.response_format is ResponseFormat.DETAILED

    def with_lines(self, most: int) -> SearchAnswer:
        """Every file's first line before the second of any."""
        kept, form = self.kept, self.request.response_format
        shown = kept.results[:most]
        others = _shared_out(most - len(shown), [len(result.others) for result in shown])
        info = self._cut(len(shown), sum(others))
        return SearchAnswer(
            instance_id=self.request.instance_id,
            query=self.request.query,
            search_id=kept.search_id,
            index_id=kept.index_id,
            results=[_told(kept.query, r, more, form) for r, more in zip(shown, others, strict=True)],
            total_matches=sum(result.count for result in kept.results),
            files_matched=len(kept.results),
            gaps=gaps_in_form(self.gaps, form),
            coverage_report=coverage_in_form(self.coverage, form),
            truncated=info is not None,
            truncation_info=info,
        )

    def _cut(self, files: int, others: int) -> TruncationInfo | None:
        total = sum(result.count for result in self.kept.results)
        longer = again(
            "search", self.request, index_id=self.kept.index_id, max_bytes=more_bytes(self.request.max_bytes)
        )
        if files < len(self.kept.results):
            left = f"{len(self.kept.results) - files} files with a match are not listed"
            return cut(total, files + others, f"{left}: raise max_bytes, or narrow the query or logTypes", longer)
        narrow = "counts are exact; narrow the query or logTypes, raise max_bytes or maxResults, or read the file"
        return cut(total, files + others, narrow, longer)


def _shared_out(room: int, sizes: Sequence[int]) -> list[int]:
    """How many of its lines each file may list: one each, then two each, while there is room."""
    given = [0] * len(sizes)
    while room > 0 and (open_ := [at for at, size in enumerate(sizes) if given[at] < size]):
        share = max(1, room // len(open_))
        for at in open_:
            more = min(share, sizes[at] - given[at], room)
            given[at] += more
            room -= more
    return given


def _gaps(searched: Sequence[_Searched], failed: dict[str, str]) -> list[str]:
    unread = [each.problem for each in searched if each.problem]
    return [*unread, *(f"{key}: {failure}" for key, failure in failed.items())]


def _coverage(searched: Sequence[_Searched], failed: dict[str, str]) -> Coverage:
    sizes: list[int] = []
    skipped: list[SkippedFile] = []
    for each in searched:
        reason = each.skip or (SkipReason.UNREADABLE if each.file.key in failed else None)
        if reason is None:
            sizes.append(each.file.size_bytes)
        else:
            name, size = each.file.relative_path, each.file.size_bytes
            skipped.append(SkippedFile(file=name, reason=reason, size_bytes=size))
    return cover(scanned_sizes=sizes, skipped=skipped)


def _told(query: str, result: KeptResult, others: int, form: ResponseFormat) -> SearchResult | ConciseFinding:
    match form:
        case ResponseFormat.DETAILED:
            return _detailed(query, result, others)
        case ResponseFormat.CONCISE:
            return _concise(query, result)
        case _:
            assert_never(form)


def _concise(query: str, result: KeptResult) -> ConciseFinding:
    """Who asked knows the query; repeated for each file, a long one would be most of the answer."""
    evidence = result.evidence
    return ConciseFinding(
        finding_id=result.finding_id,
        severity=result.severity,
        pattern=query if len(query) <= CONCISE_QUERY else f"{query[: CONCISE_QUERY - 1]}…",
        count=result.count,
        file=evidence.source_file,
        line=evidence.line_range.start if evidence.line_range is not None else None,
        excerpt=evidence.excerpt[:CONCISE_EXCERPT],
    )


def _detailed(query: str, result: KeptResult, others: int) -> SearchResult:
    return SearchResult(
        finding_id=result.finding_id,
        file=result.evidence.source_file,
        full_key=result.evidence.full_key,
        severity=result.severity,
        pattern=query,
        count=result.count,
        evidence=result.evidence,
        additional_matches=[_match_record(line) for line in result.others[:others]],
    )


def _match_record(line: Evidence) -> MatchRecord:
    return MatchRecord.model_validate(
        {
            "line": line.line_range.start if line.line_range is not None else 0,
            "byte_offset": line.byte_offset,
            "timestamp": line.timestamp,
            "excerpt": line.excerpt,
            "sha256": line.sha256,
        }
    )
