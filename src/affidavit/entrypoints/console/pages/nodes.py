"""`/nodes`: nodes with a bundle, worst first, and what was not read; below it the report of one index, served."""

import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final
from urllib.parse import quote

from starlette.responses import HTMLResponse, RedirectResponse, Response

from affidavit.entrypoints.console.guarded_page_requests import Section, Visit
from affidavit.entrypoints.console.rendering import render
from affidavit.entrypoints.report.html import report_parts
from affidavit.entrypoints.report.long_line_excerpts import QuotedLines
from affidavit.entrypoints.report.stored_bundle_analysis import library_analysis
from affidavit.errors import AffidavitError
from affidavit.index.filtered import view
from affidavit.nodes.correlation.correlate import correlate
from affidavit.nodes.library.indexed_bundles import IndexMarker, Shelf

_PAGE: Final = 50
# With what it is compressed to, a browser gets a few hundred kilobytes.
_REPORT_BYTES: Final = 2_000_000
# A report of 10,000 findings takes a second to make. It quotes stored lines, so it is made anew after a while.
_KEPT_SECONDS: Final = 60


@dataclass(frozen=True, kw_only=True)
class NodeRow:
    """`problem` says why its index could not be read."""

    instance: str
    shelf: Shelf | None
    problem: str = ""

    @property
    def rank(self) -> tuple[int, ...]:
        if self.shelf is None:
            return (0, 0, 0, 0)
        counts = self.shelf.index.summary
        return (1, -counts.critical, -counts.high, -counts.medium)

    @property
    def unread(self) -> int:
        return len(self.shelf.index.coverage.lost_files) if self.shelf is not None else 0


def list_nodes(visit: Visit) -> Response:
    found = list(islice(visit.desk.library.instances(visit.asked("after")[:64]), _PAGE + 1))
    rows = sorted((_row(visit, instance) for instance in found[:_PAGE]), key=lambda row: row.rank)
    return visit.page(
        "nodes.html",
        title="Nodes",
        section=Section.NODES,
        rows=rows,
        critical=sum(1 for row in rows if row.shelf is not None and row.shelf.index.summary.critical),
        unread=sum(1 for row in rows if row.unread or row.shelf is None),
        more=found[_PAGE - 1] if len(found) > _PAGE else "",
        is_first=not visit.asked("after"),
    )


def _row(visit: Visit, instance: str) -> NodeRow:
    try:
        return NodeRow(instance=instance, shelf=visit.desk.library.newest(instance))
    except AffidavitError as error:
        return NodeRow(instance=instance, shelf=None, problem=str(error))


def show_node(visit: Visit) -> Response:
    marker = visit.desk.library.find(visit.named("instance"))
    return RedirectResponse(f"/nodes/{quote(marker.instance_id)}/{quote(marker.index_id)}", 303)


def show_report(visit: Visit) -> Response:
    library = visit.desk.library
    shelf = library.open(visit.named("instance"), visit.named("index"))
    others = library.markers(shelf.marker.instance_id)
    minute = int(visit.desk.app.clock.now().timestamp() // _KEPT_SECONDS)
    key = (shelf.marker.index_key, shelf.marker.content, minute, *(marker.index_id for marker in others))
    return _compressed(visit, visit.desk.reports.get(key, lambda: gzip.compress(_report(visit, shelf, others), 5)))


def _report(visit: Visit, shelf: Shelf, others: Sequence[IndexMarker]) -> bytes:
    library, shown = visit.desk.library, view(shelf.index)
    parts = report_parts(
        shown,
        library_analysis(library, shelf),
        library.knowledge,
        correlate(shown.index),
        QuotedLines(),
        most_bytes=_REPORT_BYTES,
    )
    values = {"parts": parts, "shelf": shelf, "others": others}
    return render("report.html", {"title": f"Node {shelf.marker.instance_id}", **values}).encode()


def _compressed(visit: Visit, page: bytes) -> Response:
    """This page alone is compressed: it holds neither a form token nor what a request said."""
    if "gzip" not in visit.request.headers.get("accept-encoding", ""):
        return HTMLResponse(gzip.decompress(page))
    return HTMLResponse(page, headers={"Content-Encoding": "gzip", "Vary": "Accept-Encoding"})
