"""Renders the report for a terminal: the worst first, each finding with its line, then what was not read."""

from rich.console import Console
from rich.text import Text

from affidavit.bundle.manifest import Manifest
from affidavit.entrypoints.report import content
from affidavit.entrypoints.report.long_line_excerpts import QuotedLines
from affidavit.entrypoints.report.terminal_escapes_and_colours import STYLES, print_hanging, text
from affidavit.entrypoints.report.unread_files import loss_line
from affidavit.entrypoints.report.verdict_text import verdict_lines
from affidavit.evidence.node_verdict import NodeVerdict
from affidavit.evidence.severity import Severity
from affidavit.index.filtered import View
from affidavit.knowledge import Knowledge

_INDENT, _QUOTE = "  ", "  │ "
_OTHER_PLACES = 6


def print_report(
    console: Console, view: View, manifest: Manifest, knowledge: Knowledge, quoted: QuotedLines, *, is_quiet: bool
) -> None:
    if not is_quiet:
        _print_head(console, view, manifest)
    level: Severity | None = None
    for trouble in content.troubles(view.index.findings, knowledge):
        if trouble.lead.severity is not level:
            level = trouble.lead.severity
            console.print(Text(f" {level.value.upper()} ", style=STYLES[level]))
        _print_trouble(console, trouble, quoted, is_quiet=is_quiet)
    if not is_quiet:
        _print_unseen(console, view, manifest)


def _print_head(console: Console, view: View, manifest: Manifest) -> None:
    index = view.index
    if loss := loss_line(manifest, index.coverage):
        console.print(text(loss, "bold red"))
    console.print(text(f"{index.instance_id}  {manifest.source_archive}", "bold"))
    if index.clock.collected_at is not None:
        console.print(
            text(f"collected {content.moment(index.clock.collected_at)} UTC ({index.clock.collected_from})", "dim")
        )
    console.print()
    if index.verdict is not None:
        _print_verdict(console, index.verdict)
    console.print(text(content.headline(view), "bold"))
    if (span := content.span_of(index.findings)) is not None:
        console.print(text(f"began {content.moment(span[0])}, last seen {content.moment(span[1])} UTC"))
    if warning := content.health_warning(view):
        console.print(text(warning))
    console.print()


def _print_verdict(console: Console, verdict: NodeVerdict) -> None:
    console.print(text(f"VERDICT: {verdict.state.value}", "bold"))
    for line in verdict_lines(verdict):
        print_hanging(console, _INDENT, text(line))
    console.print()


def _print_trouble(console: Console, trouble: content.Trouble, quoted: QuotedLines, *, is_quiet: bool) -> None:
    lead = trouble.lead
    named = Text.assemble(text(lead.pattern, "bold"), text(f"  {lead.count}×  {content.when(lead)}"))
    print_hanging(console, f"{lead.finding_id}  ", named)
    print_hanging(console, _INDENT, text(content.place(lead), "cyan"))
    print_hanging(console, _QUOTE, text(quoted.text_of(lead)), rest=_QUOTE)
    if is_quiet:
        return
    print_hanging(console, _INDENT, text(trouble.rule.means))
    for note in content.notes(lead):
        print_hanging(console, _INDENT, text(note, "italic"))
    print_hanging(console, _INDENT, text(f"Next: {trouble.rule.first_steps[0]}", "green"))
    for other in trouble.others[:_OTHER_PLACES]:
        print_hanging(
            console, _INDENT, text(f"also {content.place(other)}  {other.count}×  ({other.finding_id})", "dim")
        )
    if len(trouble.others) > _OTHER_PLACES:
        console.print(text(f"  also in {len(trouble.others) - _OTHER_PLACES} more files", "dim"))
    console.print()


def _print_unseen(console: Console, view: View, manifest: Manifest) -> None:
    index = view.index
    console.print(text("Looked at", "bold"))
    for line in content.coverage_lines(index.coverage):
        print_hanging(console, _INDENT, text(line))
    _print_list(console, "Gaps", content.gap_lines(index))
    _print_list(console, "Suppressed", content.suppressed_lines(index.suppressed))
    _print_list(console, "Not shown", content.left_out_lines(view))
    if quiet := content.nothing_to_do(view, manifest):
        console.print(text(quiet, "bold green"))


def _print_list(console: Console, title: str, lines: list[str]) -> None:
    if lines:
        console.print(text(title, "bold"))
    for line in lines:
        print_hanging(console, _INDENT, text(line))
