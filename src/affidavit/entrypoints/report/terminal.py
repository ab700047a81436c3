"""The report on a terminal: what matters first, each claim with its line, then what was not looked at."""

from rich.console import Console
from rich.text import Text

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
    place,
    span_of,
    suppressed_lines,
    troubles,
    when,
)
from affidavit.entrypoints.report.losses import loss_line
from affidavit.entrypoints.report.screen import STYLES, harmless, print_hanging, text
from affidavit.evidence.finding import Finding
from affidavit.evidence.severity import Severity
from affidavit.index.view import View
from affidavit.knowledge import Knowledge

_QUOTED = 300
_INDENT, _QUOTE = "  ", "  │ "
_OTHER_PLACES = 6


def print_report(console: Console, view: View, manifest: Manifest, knowledge: Knowledge, *, is_quiet: bool) -> None:
    if not is_quiet:
        _print_head(console, view, manifest)
    level: Severity | None = None
    for trouble in troubles(view.index.findings, knowledge):
        if trouble.lead.severity is not level:
            level = trouble.lead.severity
            console.print(Text(f" {level.value.upper()} ", style=STYLES[level]))
        _print_trouble(console, trouble, is_quiet=is_quiet)
    if not is_quiet:
        _print_unseen(console, view)


def _print_head(console: Console, view: View, manifest: Manifest) -> None:
    index = view.index
    if loss := loss_line(manifest, index.coverage):
        console.print(text(loss, "bold red"))
    console.print(text(f"{index.instance_id}  {manifest.source_archive}", "bold"))
    if index.clock.collected_at is not None:
        console.print(text(f"collected {moment(index.clock.collected_at)} UTC ({index.clock.collected_from})", "dim"))
    console.print()
    console.print(text(headline(view), "bold"))
    if (span := span_of(index.findings)) is not None:
        console.print(text(f"began {moment(span[0])}, last seen {moment(span[1])} UTC"))
    if warning := health_warning(view):
        console.print(text(warning))
    console.print()


def _print_trouble(console: Console, trouble: Trouble, *, is_quiet: bool) -> None:
    lead = trouble.lead
    named = Text.assemble(text(lead.pattern, "bold"), text(f"  {lead.count}×  {when(lead)}"))
    print_hanging(console, f"{lead.finding_id}  ", named)
    print_hanging(console, _INDENT, text(place(lead), "cyan"))
    print_hanging(console, _QUOTE, text(_quote(lead)), rest=_QUOTE)
    if is_quiet:
        return
    print_hanging(console, _INDENT, text(trouble.rule.means))
    for note in notes(lead):
        print_hanging(console, _INDENT, text(note, "italic"))
    print_hanging(console, _INDENT, text(f"Next: {trouble.rule.first_steps[0]}", "green"))
    for other in trouble.others[:_OTHER_PLACES]:
        print_hanging(console, _INDENT, text(f"also {place(other)}  {other.count}×  ({other.finding_id})", "dim"))
    if len(trouble.others) > _OTHER_PLACES:
        console.print(text(f"  also in {len(trouble.others) - _OTHER_PLACES} more files", "dim"))
    console.print()


def _print_unseen(console: Console, view: View) -> None:
    index = view.index
    console.print(text("Looked at", "bold"))
    for line in coverage_lines(index.coverage):
        print_hanging(console, _INDENT, text(line))
    _print_list(console, "Gaps", gap_lines(index))
    _print_list(console, "Suppressed", suppressed_lines(index.suppressed))
    _print_list(console, "Not shown", left_out_lines(view))


def _print_list(console: Console, title: str, lines: list[str]) -> None:
    if lines:
        console.print(text(title, "bold"))
    for line in lines:
        print_hanging(console, _INDENT, text(line))


def _quote(finding: Finding) -> str:
    shown = harmless(finding.evidence.excerpt)
    return shown if len(shown) <= _QUOTED else shown[:_QUOTED] + " […]"
