"""Report pages made for tests."""

import random
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from affidavit.entrypoints.report.html import render_html
from affidavit.entrypoints.report.long_line_excerpts import QuotedLines
from affidavit.evidence.severity import Severity
from affidavit.index.filtered import TimeWindow, View, view
from affidavit.index.findings_index import summarize
from affidavit.investigation import Analysis
from affidavit.knowledge import Knowledge
from affidavit.nodes.correlation.correlate import correlate


def page_of(
    analysis: Analysis, knowledge: Knowledge, *, least: Severity = Severity.INFO, window: TimeWindow | None = None
) -> str:
    shown: View = view(analysis.index, least=least, window=window)
    return render_html(shown, analysis, knowledge, correlate(shown.index), QuotedLines())


def multiplied(analysis: Analysis, count: int) -> Analysis:
    """The same findings again and again, spread over a day, in the order an index has."""
    chance = random.Random(7)
    copies = []
    for number in range(count):
        finding = analysis.index.findings[number % len(analysis.index.findings)]
        back = timedelta(seconds=chance.randrange(86_400))
        moved = [moment and moment - back for moment in (finding.first_seen, finding.last_seen)]
        copies.append(replace(finding, first_seen=moved[0], last_seen=moved[1]))
    copies.sort(key=lambda finding: finding.severity.rank)
    findings = tuple(replace(finding, finding_id=f"F-{number:03d}") for number, finding in enumerate(copies, 1))
    return replace(analysis, index=replace(analysis.index, findings=findings, summary=summarize(findings)))


def saved(page: str, folder: Path, name: str = "report.html") -> str:
    """The address of the page in a file."""
    path = folder / name
    path.write_text(page, "utf-8")
    return path.as_uri()
