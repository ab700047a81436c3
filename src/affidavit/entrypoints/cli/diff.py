"""Runs `affidavit diff`: analyzes two bundles and prints what differs."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from affidavit.bundle.workspace import workspace
from affidavit.entrypoints.cli.exit_codes import Exit
from affidavit.entrypoints.cli.locale_safe_output import write_json
from affidavit.entrypoints.cli.progress import progress_line
from affidavit.entrypoints.report.terminal_escapes_and_colours import STYLES, make_console, print_hanging, text
from affidavit.entrypoints.report.unread_files import loss_line
from affidavit.evidence.severity import Severity
from affidavit.index.comparison import ChangedSettings, ComparedFinding, Comparison, Difference, compare
from affidavit.investigation import Analysis, analyze
from affidavit.knowledge import Knowledge, load_knowledge
from affidavit.redaction.redact import Redactor

_TITLES = {
    Difference.NEW: "New",
    Difference.GONE: "Gone",
    Difference.MORE: "More often",
    Difference.FEWER: "Less often",
    Difference.SAME: "Unchanged",
}


@dataclass(frozen=True, kw_only=True)
class DiffOptions:
    before: Path
    after: Path
    least: Severity
    rules: Path | None
    fail_on: Severity | None
    shows_same: bool
    is_json: bool
    no_color: bool
    is_quiet: bool


def run_diff(options: DiffOptions) -> Exit:
    knowledge = load_knowledge(options.rules)
    with workspace() as folder:
        before = _analyzed(options.before, folder / "before", knowledge, options)
        after = _analyzed(options.after, folder / "after", knowledge, options)
        found = compare(before.index, after.index, (before.bundle, after.bundle))
    if options.is_json:
        write_json(json.dumps(_document(found, before, after, options), indent=2).encode() + b"\n")
    else:
        _print(found, before, after, options)
    return _exit(found, (before, after), options.fail_on)


def _analyzed(path: Path, folder: Path, knowledge: Knowledge, options: DiffOptions) -> Analysis:
    folder.mkdir()
    with progress_line(path, is_quiet=options.is_quiet) as progress:
        return analyze(path, knowledge=knowledge, workspace=folder, progress=progress, workers=os.cpu_count() or 1)


def _shown(found: Comparison, options: DiffOptions) -> list[ComparedFinding]:
    changes = [each for each in found.findings if options.shows_same or each.change is not Difference.SAME]
    return [each for each in changes if each.severity.is_at_least(options.least)]


def _print(found: Comparison, before: Analysis, after: Analysis, options: DiffOptions) -> None:
    console = make_console(no_color=options.no_color)
    for side, analysis in (("before", before), ("after", after)):
        console.print(text(f"{side:7} {analysis.index.instance_id}  {_collected(analysis)}"))
        if lost := loss_line(analysis.manifest, analysis.index.coverage):
            console.print(text(f"        {lost}", "bold"))
    shown = _shown(found, options)
    for change in Difference:
        rows = [each for each in shown if each.change is change]
        if rows:
            console.print()
            console.print(text(_TITLES[change], "bold"))
        for each in rows:
            ids = ", ".join((each.after_ids or each.before_ids)[:4])
            row = f"{each.pattern}  {each.before} → {each.after}  ({ids} {'after' if each.after_ids else 'before'})"
            print_hanging(console, f"  {each.severity.value:9}", text(row, STYLES[each.severity]))
    for settings in found.settings:
        console.print()
        console.print(text(f"Changed  {settings.file}", "bold"))
        for mark, lines in (("-", settings.removed), ("+", settings.added)):
            for line in lines:
                print_hanging(console, f"  {mark} ", text(_redacted(line)))
        if settings.is_cut:
            console.print(text("  … and more lines"))
    for missing in found.not_compared:
        console.print(text(f"Not compared: {missing}"))
    if not shown and not found.settings:
        console.print(text("Nothing known differs in what was read on both sides."))


def _collected(analysis: Analysis) -> str:
    at = analysis.index.clock.collected_at
    return f"collected {at:%Y-%m-%d %H:%M} UTC" if at is not None else "collection time unknown"


def _document(found: Comparison, before: Analysis, after: Analysis, options: DiffOptions) -> dict[str, Any]:
    return {
        "before": _side(before),
        "after": _side(after),
        "least_severity": options.least.value,
        "findings": [_row(each) for each in _shown(found, options)],
        "settings": [_settings_row(each) for each in found.settings],
        "not_compared": list(found.not_compared),
    }


def _side(analysis: Analysis) -> dict[str, Any]:
    return {
        "instance_id": analysis.index.instance_id,
        "index_id": analysis.index.index_id,
        "not_read": loss_line(analysis.manifest, analysis.index.coverage) or None,
    }


def _row(each: ComparedFinding) -> dict[str, Any]:
    return {
        "pattern": each.pattern,
        "severity": each.severity.value,
        "change": each.change.value,
        "before": each.before,
        "after": each.after,
        "before_ids": list(each.before_ids),
        "after_ids": list(each.after_ids),
    }


def _settings_row(each: ChangedSettings) -> dict[str, Any]:
    return {
        "file": each.file,
        "removed": [_redacted(line) for line in each.removed],
        "added": [_redacted(line) for line in each.added],
        "is_cut": each.is_cut,
    }


def _redacted(line: str) -> str:
    return Redactor().redact(line).text


def _exit(found: Comparison, sides: tuple[Analysis, Analysis], fail_on: Severity | None) -> Exit:
    if fail_on is None:
        return Exit.DONE
    worse = [each for each in found.findings if each.change in (Difference.NEW, Difference.MORE)]
    if any(each.severity.is_at_least(fail_on) for each in worse):
        return Exit.FOUND
    has_loss = any(loss_line(side.manifest, side.index.coverage) for side in sides)
    return Exit.UNAVAILABLE if has_loss else Exit.DONE
