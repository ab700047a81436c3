"""The report as Markdown, to paste into a ticket. Log text stands in code blocks and cannot become markup."""

import re
from collections.abc import Iterator

from affidavit.bundle.manifest import Manifest
from affidavit.entrypoints.report.content import (
    Trouble,
    counts_line,
    coverage_lines,
    gap_lines,
    health_warning,
    left_out_lines,
    moment,
    notes,
    place,
    span_of,
    suppressed_lines,
    troubles,
    when,
)
from affidavit.entrypoints.report.screen import harmless
from affidavit.index.view import View
from affidavit.knowledge import Knowledge

_MARKUP = re.compile(r"([\\`*_{}\[\]()<>#+!|~])")


def render_markdown(view: View, manifest: Manifest, knowledge: Knowledge) -> str:
    return "\n".join(_lines(view, manifest, knowledge)) + "\n"


def _lines(view: View, manifest: Manifest, knowledge: Knowledge) -> Iterator[str]:
    index = view.index
    yield f"# Node {plain(index.instance_id)}: {counts_line(index.summary)}"
    yield ""
    collected = moment(index.clock.collected_at)
    yield f"Bundle {code(manifest.source_archive)}, collected {collected} UTC, index `{index.index_id}`."
    if (span := span_of(index.findings)) is not None:
        yield f"Began {moment(span[0])}, last seen {moment(span[1])} UTC."
    if not index.findings:
        yield health_warning(index)
    level = None
    for trouble in troubles(index.findings, knowledge):
        if trouble.lead.severity is not level:
            level = trouble.lead.severity
            yield ""
            yield f"## {level.value.capitalize()}"
        yield from _trouble_lines(trouble)
    yield from _section("Looked at", coverage_lines(index.coverage))
    yield from _section("Gaps", gap_lines(index))
    yield from _section("Suppressed", suppressed_lines(index.suppressed))
    yield from _section("Not shown", left_out_lines(view))


def _trouble_lines(trouble: Trouble) -> Iterator[str]:
    lead = trouble.lead
    yield ""
    yield f"### {lead.finding_id} {plain(lead.pattern)} ({lead.count}×, {when(lead)})"
    yield ""
    yield plain(trouble.rule.means)
    yield ""
    yield f"{code(place(lead))}"
    yield from fenced(lead.evidence.excerpt)
    for note in notes(lead):
        yield f"*{plain(note)}*"
        yield ""
    yield from (f"{number}. {plain(step)}" for number, step in enumerate(trouble.rule.first_steps, 1))
    if trouble.others:
        yield ""
        yield "Also: " + ", ".join(
            f"{code(place(other))} {other.count}× ({other.finding_id})" for other in trouble.others
        )


def _section(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield ""
        yield f"## {title}"
        yield ""
        yield from (f"- {plain(line)}" for line in lines)


def plain(text: str) -> str:
    return _MARKUP.sub(r"\\\1", harmless(text))


def code(text: str) -> str:
    return "`" + harmless(text).replace("`", "'") + "`"


def fenced(text: str) -> Iterator[str]:
    """A code block that its content cannot close."""
    shown = harmless(text)
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    yield from (fence, shown, fence)
