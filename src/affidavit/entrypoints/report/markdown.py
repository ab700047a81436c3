"""Renders the report as Markdown, to paste into a ticket. Log text is in code blocks and cannot become markup."""

import re
from collections.abc import Iterable, Iterator

from affidavit.bundle.manifest import Manifest
from affidavit.entrypoints.report.content import (
    Trouble,
    coverage_lines,
    gap_lines,
    headline,
    health_warning,
    left_out_lines,
    moment,
    notes,
    nothing_to_do,
    place,
    span_of,
    suppressed_lines,
    troubles,
    when,
)
from affidavit.entrypoints.report.long_line_excerpts import QuotedLines
from affidavit.entrypoints.report.terminal_escapes_and_colours import harmless
from affidavit.entrypoints.report.unread_files import loss_line
from affidavit.entrypoints.report.verdict_text import verdict_lines
from affidavit.evidence.node_verdict import NodeVerdict
from affidavit.index.filtered import View
from affidavit.knowledge import Knowledge

_MARKUP = re.compile(r"([\\`*_{}\[\]()<>#+!|~])")
# Words and numbers. Anything else may be a link, a mention or a reference to whoever shows the report: those are made
# of finished text, so that no backslash keeps them away, and every place has its own kinds.
_WORD = re.compile(r"""(["'(]*)([^\W\d_]+(?:['-][^\W\d_]+)*|[\d.,]+|[^\W_]{1,6}|[-–—×·%]?)([.,;:!?)"'%]*)""")
_LIST = re.compile(r"\d+[.)]|-")


def render_markdown(view: View, manifest: Manifest, knowledge: Knowledge, quoted: QuotedLines) -> str:
    return "\n".join(_lines(view, manifest, knowledge, quoted)) + "\n"


def _lines(view: View, manifest: Manifest, knowledge: Knowledge, quoted: QuotedLines) -> Iterator[str]:
    index = view.index
    yield f"# Node {inert(index.instance_id)}: {headline(view)}"
    yield ""
    if loss := loss_line(manifest, index.coverage):
        yield from (f"**{inert(loss)}**", "")
    collected = moment(index.clock.collected_at)
    if index.verdict is not None:
        yield from _verdict(index.verdict)
    yield f"Bundle {code(manifest.source_archive)}, collected {collected} UTC, index `{index.index_id}`."
    if (span := span_of(index.findings)) is not None:
        yield f"Began {moment(span[0])}, last seen {moment(span[1])} UTC."
    if warning := health_warning(view):
        yield warning
    level = None
    for trouble in troubles(index.findings, knowledge):
        if trouble.lead.severity is not level:
            level = trouble.lead.severity
            yield ""
            yield f"## {level.value.capitalize()}"
        yield from _trouble_lines(trouble, quoted)
    yield from _section("Looked at", map(inert, coverage_lines(index.coverage)))
    yield from _section("Gaps", map(inert, gap_lines(index)))
    yield from _section("Suppressed", map(plain, suppressed_lines(index.suppressed)))
    yield from _section("Not shown", map(plain, left_out_lines(view)))
    if quiet := nothing_to_do(view, manifest):
        yield from ("", f"**{quiet}**")


def _verdict(verdict: NodeVerdict) -> Iterator[str]:
    yield f"## Verdict: {verdict.state.value}"
    yield ""
    yield from (f"- {inert(line)}" for line in verdict_lines(verdict))
    yield ""


def _trouble_lines(trouble: Trouble, quoted: QuotedLines) -> Iterator[str]:
    lead = trouble.lead
    yield ""
    yield f"### {lead.finding_id} {plain(lead.pattern)} ({lead.count}×, {when(lead)})"
    yield ""
    yield plain(trouble.rule.means)
    yield ""
    yield f"{code(place(lead))}"
    yield from fenced(quoted.text_of(lead))
    for note in notes(lead):
        yield inert(note)
        yield ""
    yield from (f"{number}. {plain(step)}" for number, step in enumerate(trouble.rule.first_steps, 1))
    if trouble.others:
        yield ""
        yield "Also: " + ", ".join(
            f"{code(place(other))} {other.count}× ({other.finding_id})" for other in trouble.others
        )


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    items = [f"- {line}" for line in lines]
    if items:
        yield from ("", f"## {title}", "", *items)


def plain(text: str) -> str:
    """Text from rules: markup is escaped, but an address may become a link."""
    return _MARKUP.sub(r"\\\1", harmless(text))


def inert(text: str) -> str:
    """Text that may come from the bundle: all but words and numbers goes into code."""
    first, *rest = re.split(r"([ \t]+)", harmless(text))
    begins_list = _LIST.fullmatch(first) is not None
    return "".join([code(first) if begins_list else _inert_part(first), *map(_inert_part, rest)])


def _inert_part(part: str) -> str:
    if not part.strip():
        return part
    if _WORD.fullmatch(part):
        return plain(part)
    ending = part[len(part.rstrip(".,;:")) :]
    return code(part.removesuffix(ending)) + ending if ending != part else code(part)


def code(text: str) -> str:
    return "`" + harmless(text).replace("`", "'") + "`"


def fenced(text: str) -> Iterator[str]:
    """A code block that its content cannot close."""
    shown = harmless(text)
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    yield from (fence, shown, fence)
