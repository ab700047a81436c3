"""The report as one HTML file that needs nothing else: no network, no library, no server.

Log text is hostile. It enters the page once, as JSON whose markup characters are escaped, and the script shows it as
text only. A browser without script gets a plain list.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from string import Template

from affidavit.entrypoints.report.content import headline, place, when
from affidavit.entrypoints.report.long_line_excerpts import QuotedLines
from affidavit.entrypoints.report.page.data import page_data
from affidavit.entrypoints.report.page.safe_data import Allowance, encoded, shown
from affidavit.entrypoints.report.page_frame import load_page
from affidavit.index.filtered import View
from affidavit.investigation import Analysis
from affidavit.knowledge import Knowledge
from affidavit.nodes.correlation.correlate import Correlation

# Mail and ticket systems take 5 MB, and a browser opens it at once.
PAGE_BYTES = 4_900_000
_PLAIN_LIST = 250_000


def render_html(
    view: View,
    analysis: Analysis,
    knowledge: Knowledge,
    correlation: Correlation,
    quoted: QuotedLines,
    *,
    is_raw: bool = False,
) -> str:
    """Reads the lines around the evidence, so the files of `analysis.bundle` must still be there.

    Secrets in those lines are hidden unless `is_raw`; the view is shown as it is given.
    """
    parts = load_page("page", "report")
    made = report_parts(
        view, analysis, knowledge, correlation, quoted, most_bytes=PAGE_BYTES - parts.size, is_raw=is_raw
    )
    return parts.page(title=made.title, data=made.data, plain=made.plain)


@dataclass(frozen=True, kw_only=True)
class ReportParts:
    """What a report shows, made safe: `title` and `plain` are HTML, `data` is JSON for a script element."""

    title: str
    data: str
    plain: str

    def body(self) -> str:
        return Template(load_page("page", "report").body).substitute(plain=self.plain)


def report_parts(
    view: View,
    analysis: Analysis,
    knowledge: Knowledge,
    correlation: Correlation,
    quoted: QuotedLines,
    *,
    most_bytes: int,
    is_raw: bool = False,
) -> ReportParts:
    plain = _plain_list(view)
    title = escape(shown(f"{view.index.instance_id}: {headline(view)}"))
    allowance = Allowance(most_bytes - len(plain.encode()) - len(title.encode()))
    data = page_data(view, analysis, knowledge, correlation, quoted, allowance, is_raw=is_raw)
    return ReportParts(title=title, data=encoded(data), plain=plain)


def _plain_list(view: View) -> str:
    """For a browser without script: every finding in a line, as far as the page has room."""
    left, items = _PLAIN_LIST, list[str]()
    for item in _plain_items(view):
        left -= len(item.encode())
        if left < 0:
            break
        items.append(item)
    rest = len(view.index.findings) - len(items)
    more = f"<p>{rest} more findings are in the page's data and need script to be shown.</p>" if rest else ""
    return f"<ol>\n{''.join(items)}</ol>\n{more}"


def _plain_items(view: View) -> Iterator[str]:
    for finding in view.index.findings:
        named = f"{finding.finding_id} {finding.severity.value}: {finding.pattern}, {finding.count}×, {when(finding)}"
        yield f"<li>{escape(shown(named))} <code>{escape(shown(place(finding)))}</code></li>\n"
