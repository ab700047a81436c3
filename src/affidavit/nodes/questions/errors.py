"""`errors`: the prepared index, filtered and paged."""

from collections.abc import Mapping, Sequence

from affidavit.errors import InputRefused
from affidavit.evidence.finding import Finding
from affidavit.nodes.answers.errors import ErrorsAnswer, ErrorsRequest, Pagination, SeverityCounts
from affidavit.nodes.answers.finding import ConciseFinding, FindingRecord
from affidavit.nodes.answers.wire import CoverageReport, ResponseFormat, cut, gaps_in_form
from affidavit.nodes.baselines import Baseline, annotated, baselines, uncounted
from affidavit.nodes.library import Library, Shelf
from affidavit.nodes.paging import Page, page_of, page_token


def errors(library: Library, request: ErrorsRequest) -> ErrorsAnswer:
    start = _page(request)
    shelf = library.open(request.instance_id, start.index_id or None)
    asked = [finding for finding in shelf.index.findings if request.severity in ("all", finding.severity)]
    shown = asked[start.offset : start.offset + request.page_size]
    usual = baselines(library.state, request.cluster_context) if request.cluster_context is not None else {}
    told = (
        _concise(shown)
        if request.response_format is ResponseFormat.CONCISE
        else _detailed(request, shelf, shown, usual)
    )
    gaps = [*uncounted(request.cluster_context, usual), *shelf.index.gaps]
    return _answer(request, shelf, told, gaps, total=len(asked), end=start.offset + len(shown))


def _concise(shown: list[Finding]) -> list[ConciseFinding]:
    return [ConciseFinding.of(finding) for finding in shown]


def _detailed(
    request: ErrorsRequest, shelf: Shelf, shown: list[Finding], usual: Mapping[str, Baseline]
) -> list[FindingRecord]:
    if request.cluster_context is None:
        return [shelf.record(finding.finding_id) for finding in shown]
    return [FindingRecord.of(finding) for finding in annotated(shown, usual)]


def _answer(
    request: ErrorsRequest,
    shelf: Shelf,
    told: list[FindingRecord] | list[ConciseFinding],
    gaps: Sequence[str],
    *,
    total: int,
    end: int,
) -> ErrorsAnswer:
    has_more = end < total
    token = page_token(Page(index_id=shelf.index.index_id, offset=end), _question(request)) if has_more else None
    info = cut(total, len(told), "pass pagination.next_page_token as pageToken" if has_more else "see earlier pages")
    return ErrorsAnswer(
        index_id=shelf.index.index_id,
        findings=[*told],
        summary=SeverityCounts.model_validate(shelf.index.summary),
        suppressed_total=sum(entry.count for entry in shelf.index.suppressed),
        gaps=gaps_in_form(gaps, request.response_format),
        coverage_report=CoverageReport.of(shelf.index.coverage).in_form(request.response_format),
        pagination=Pagination(
            page_size=request.page_size, total_findings=total, next_page_token=token, has_more=has_more
        ),
        truncated=has_more,
        truncation_info=info if has_more else None,
    )


def _page(request: ErrorsRequest) -> Page:
    """A token's index stays the one that is asked, whatever was indexed since."""
    if request.page_token is None:
        return Page(index_id=request.index_id or "", offset=0)
    page = page_of(request.page_token, _question(request))
    if request.index_id not in (None, page.index_id):
        raise InputRefused(
            f"pageToken belongs to index {page.index_id}, not to {request.index_id}",
            hint="leave index_id out, or ask again without pageToken",
        )
    return page


def _question(request: ErrorsRequest) -> str:
    return f"errors {request.instance_id} {request.severity}"
