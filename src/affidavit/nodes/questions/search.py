"""`search`: a regular expression over every text file of a bundle, of any size."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from affidavit.bundle.layout import component_of, glob_pattern, role_of
from affidavit.bundle.manifest import FileStatus, FileType, ManifestFile
from affidavit.errors import EvidenceUnavailable, InputRefused
from affidavit.evidence.coverage import SkippedFile, SkipReason, cover
from affidavit.evidence.finding import Evidence, Finding
from affidavit.evidence.severity import Severity
from affidavit.nodes.answers.finding import ConciseFinding, EvidenceRecord
from affidavit.nodes.answers.search import MatchRecord, SearchAnswer, SearchRequest, SearchResult
from affidavit.nodes.answers.wire import CoverageReport, ResponseFormat, TruncationInfo, cut, gaps_in_form
from affidavit.nodes.found_lines import clock_of, evidence_of
from affidavit.nodes.library import Library, Shelf
from affidavit.nodes.queries import compile_query
from affidavit.nodes.questions.files import files_of
from affidavit.nodes.scanning import FileMatches, scan_files
from affidavit.nodes.searches import KeptResult, KeptSearch, keep_search, search_id_of
from affidavit.nodes.surroundings import surroundings

# Lines listed in one answer, whatever the number of files: beyond it, each file still has its first line and count.
MOST_LINES = 2000
CONCISE_QUERY = 80


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
    scanned = scan_files(query, [location for _, location in readable], request.max_results)
    failed = {file.key: found.failure for (file, _), found in zip(readable, scanned, strict=True) if found.failure}
    matches = _located(library, shelf, readable, scanned)
    kept = _kept(shelf, request, matches)
    keep_search(library, kept)
    answer = _answer(request, kept, matches, searched, failed)
    return answer.standing_in(surroundings((line for match in matches for line in match.lines), shelf.lines))


def _selected(files: Sequence[ManifestFile], types: list[str] | None) -> Sequence[ManifestFile]:
    if not types:
        return files
    unused = [wanted for wanted in types if not any(_is_of_type(file, wanted) for file in files)]
    if unused:
        known = sorted({component for file in files for component in role_of(file.relative_path).holds})
        raise InputRefused(
            f"no file of the bundle is of log type {', '.join(map(ascii, unused))}",
            hint=f"components here: {', '.join(known)}; or give a folder or a glob; list_bundle_files shows all paths",
        )
    return [file for file in files if any(_is_of_type(file, wanted) for wanted in types)]


def _is_of_type(file: ManifestFile, wanted: str) -> bool:
    path = file.relative_path
    if wanted in role_of(path).holds or wanted.strip("/") in path.split("/"):
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
    return sorted(matches, key=lambda match: match.file.relative_path)


def _kept(shelf: Shelf, request: SearchRequest, matches: Sequence[_Match]) -> KeptSearch:
    severities = _severities(shelf.index.findings)
    question = (request.query, sorted(request.log_types or ()), request.max_results)
    return KeptSearch(
        search_id=search_id_of(shelf.index.index_id, *question),
        instance_id=request.instance_id,
        index_id=shelf.index.index_id,
        query=request.query,
        results=tuple(_result(number, match, severities) for number, match in enumerate(matches, 1)),
    )


def _result(number: int, match: _Match, severities: dict[str, dict[int, Severity]]) -> KeptResult:
    path, first = match.file.relative_path, match.lines[0]
    known = severities.get(path, {})
    worst = [known[line.line_range.start] for line in match.lines if line.line_range and line.line_range.start in known]
    return KeptResult(
        finding_id=f"S-{number:03d}",
        severity=min(worst, key=lambda severity: severity.rank, default=Severity.INFO),
        component=component_of(first.excerpt.encode(), role_of(path)),
        count=match.count,
        evidence=first,
        others=tuple(match.lines[1:]),
    )


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


def _answer(
    request: SearchRequest,
    kept: KeptSearch,
    matches: Sequence[_Match],
    searched: Sequence[_Searched],
    failed: dict[str, str],
) -> SearchAnswer:
    info = _cut(matches)
    is_detailed = request.response_format is ResponseFormat.DETAILED
    return SearchAnswer(
        search_id=kept.search_id,
        index_id=kept.index_id,
        results=[_detailed(kept.query, r) if is_detailed else _concise(kept.query, r) for r in kept.results],
        total_matches=sum(match.count for match in matches),
        files_matched=len(matches),
        gaps=gaps_in_form(_gaps(searched, failed), request.response_format),
        coverage_report=_coverage(searched, failed).in_form(request.response_format),
        truncated=info is not None,
        truncation_info=info,
    )


def _cut(matches: Sequence[_Match]) -> TruncationInfo | None:
    total, listed = sum(match.count for match in matches), sum(len(match.lines) for match in matches)
    return cut(total, listed, "counts are exact; narrow the query or logTypes, raise maxResults, or read the file")


def _gaps(searched: Sequence[_Searched], failed: dict[str, str]) -> list[str]:
    unread = [each.problem for each in searched if each.problem]
    return [*unread, *(f"{key}: {failure}" for key, failure in failed.items())]


def _coverage(searched: Sequence[_Searched], failed: dict[str, str]) -> CoverageReport:
    sizes: list[int] = []
    skipped: list[SkippedFile] = []
    for each in searched:
        reason = each.skip or (SkipReason.UNREADABLE if each.file.key in failed else None)
        if reason is None:
            sizes.append(each.file.size_bytes)
        else:
            name, size = each.file.relative_path, each.file.size_bytes
            skipped.append(SkippedFile(file=name, reason=reason, size_bytes=size))
    return CoverageReport.of(cover(scanned_sizes=sizes, skipped=skipped))


def _concise(query: str, result: KeptResult) -> ConciseFinding:
    """Who asked knows the query; repeated for each file, a long one would be most of the answer."""
    pattern = query if len(query) <= CONCISE_QUERY else f"{query[: CONCISE_QUERY - 1]}…"
    return ConciseFinding(finding_id=result.finding_id, severity=result.severity, pattern=pattern, count=result.count)


def _detailed(query: str, result: KeptResult) -> SearchResult:
    return SearchResult(
        finding_id=result.finding_id,
        file=result.evidence.source_file,
        full_key=result.evidence.full_key,
        severity=result.severity,
        pattern=query,
        count=result.count,
        evidence=EvidenceRecord.of(result.evidence),
        additional_matches=[_match_record(line) for line in result.others],
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
