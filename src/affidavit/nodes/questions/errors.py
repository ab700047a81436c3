"""`errors`: the prepared index, filtered and paged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import assert_never

from affidavit.errors import InputRefused
from affidavit.evidence.finding import Finding
from affidavit.nodes.library.indexed_bundles import Library, Shelf
from affidavit.nodes.library.pattern_prevalence import Baseline, annotated, baselines, uncounted
from affidavit.nodes.questions.paging import Page, page_of, page_token
from affidavit.nodes.wire.finding import ConciseFinding, with_few_occurrences
from affidavit.nodes.wire.findings_page import ErrorsAnswer, ErrorsRequest, Pagination, SeverityCounts
from affidavit.nodes.wire.shared_fields import ResponseFormat, coverage_in_form, gaps_in_form
from affidavit.wire.byte_budget import fit
from affidavit.wire.records import again, cut


def errors(library: Library, request: ErrorsRequest) -> ErrorsAnswer:
    start = _page(request)
    shelf = library.open(request.instance_id, start.index_id or None)
    asked = [finding for finding in shelf.index.findings if request.severity.lets_through(finding.severity)]
    usual = baselines(library.state, request.cluster_context) if request.cluster_context is not None else {}
    shown = _told(request.response_format, asked[start.offset : start.offset + request.page_size], usual)
    page = _Answering(
        request=request,
        shelf=shelf,
        shown=shown,
        offset=start.offset,
        total=len(asked),
        gaps=[*uncounted(request.cluster_context, usual), *shelf.index.gaps],
    )
    # Gaps may take a quarter of the answer; findings take what is left.
    gaps = fit(page.with_gaps, len(page.gaps), request.max_bytes // 4).gaps
    return fit(partial(page.with_findings, gaps), len(shown), request.max_bytes, least=min(1, len(shown)))


def _told(
    form: ResponseFormat, shown: Sequence[Finding], usual: Mapping[str, Baseline]
) -> Sequence[Finding | ConciseFinding]:
    match form:
        case ResponseFormat.CONCISE:
            return [ConciseFinding.of(finding) for finding in shown]
        case ResponseFormat.DETAILED:
            return [with_few_occurrences(finding) for finding in annotated(shown, usual)]
        case _:
            assert_never(form)


@dataclass(frozen=True, kw_only=True)
class _Answering:
    request: ErrorsRequest
    shelf: Shelf
    shown: Sequence[Finding | ConciseFinding]
    offset: int
    total: int
    gaps: Sequence[str]

    def with_gaps(self, most: int) -> ErrorsAnswer:
        return self.with_findings(gaps_in_form(self.gaps, self.request.response_format, most=most), 0)

    def with_findings(self, gaps: Sequence[str], most: int) -> ErrorsAnswer:
        index, end = self.shelf.index, self.offset + most
        token = self._token(end) if end < self.total else None
        following = again("errors", self.request, pageToken=token)
        info = cut(self.total, most, "pass pagination.next_page_token as pageToken", following) if token else None
        return ErrorsAnswer(
            instance_id=self.request.instance_id,
            index_id=index.index_id,
            findings=list(self.shown[:most]),
            summary=SeverityCounts.model_validate(index.summary),
            suppressed_total=sum(entry.count for entry in index.suppressed),
            gaps=list(gaps),
            coverage_report=coverage_in_form(index.coverage, self.request.response_format),
            pagination=Pagination(
                page_size=self.request.page_size,
                total_findings=self.total,
                next_page_token=token,
                has_more=token is not None,
            ),
            truncated=info is not None,
            truncation_info=info,
        )

    def _token(self, end: int) -> str:
        return page_token(Page(index_id=self.shelf.index.index_id, offset=end), _question(self.request))


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
