"""`affidavit analyze`."""

import os
import re
import shutil
import sys
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from affidavit.bundle.manifest import manifest_from_json, manifest_to_json
from affidavit.bundle.opening import save_stream
from affidavit.bundle.workspace import prepare_output, publish, publish_folder, workspace
from affidavit.entrypoints.cli.exits import Exit
from affidavit.entrypoints.cli.output import write_json
from affidavit.entrypoints.cli.progress import progress_line
from affidavit.entrypoints.report.content import left_out_lines
from affidavit.entrypoints.report.html import render_html
from affidavit.entrypoints.report.losses import loss_line, losses
from affidavit.entrypoints.report.markdown import render_markdown
from affidavit.entrypoints.report.screen import harmless, make_console
from affidavit.entrypoints.report.terminal import print_report
from affidavit.errors import InputRefused
from affidavit.evidence.severity import Severity
from affidavit.index.record import FindingsIndex, index_to_json
from affidavit.index.view import View, Window, view
from affidavit.investigation import EXTRACTED, Analysis, analyze
from affidavit.knowledge import Knowledge, load_knowledge
from affidavit.nodes.correlate import correlate

MANIFEST = "manifest.json"
INDEX = "findings_index.json"
REPORT = "report.html"
_BEFORE = re.compile(r"(\d+)([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


@dataclass(frozen=True, kw_only=True)
class AnalyzeOptions:
    bundle: str
    out: Path | None
    is_extracting: bool
    form: str
    least: Severity
    since: str | None
    until: str | None
    rules: Path | None
    fail_on: Severity | None
    workers: int | None
    no_color: bool
    is_quiet: bool


def run_analyze(options: AnalyzeOptions) -> Exit:
    _refuse_contradictions(options)
    knowledge = load_knowledge(options.rules)
    if options.out is not None:
        prepare_output(options.out)
    with workspace(beside=options.out if options.is_extracting else None) as folder:
        path = _bundle_path(options.bundle, folder)
        with progress_line(path, is_quiet=options.is_quiet) as progress:
            analysis = analyze(
                path,
                knowledge=knowledge,
                workspace=folder,
                progress=progress,
                workers=options.workers or os.cpu_count() or 1,
                name="standard input" if options.bundle == "-" else None,
            )
        shown = view(analysis.index, least=options.least, window=_window(options, analysis.index))
        if options.out is not None:
            # While the files are there: the page quotes the lines around each finding.
            page = render_html(shown, analysis, knowledge, correlate(shown.index))
            write_results(analysis, options.out, page, folder if options.is_extracting else None)
    _present(shown, analysis, knowledge, options)
    return _verdict(shown, analysis, options.fail_on)


def _refuse_contradictions(options: AnalyzeOptions) -> None:
    if options.is_extracting and options.out is None:
        raise InputRefused("--extract needs a place to keep the files", hint="add --out DIR")
    for given in (options.since, options.until):
        if given is not None:
            _moment(given, before=datetime.now(UTC))


def _bundle_path(bundle: str, folder: Path) -> Path:
    if bundle != "-":
        return Path(bundle)
    if sys.stdin.isatty():
        raise InputRefused("standard input is a terminal", hint="pipe a bundle in, or give its path")
    return save_stream(sys.stdin.buffer, folder / "standard-input")


def write_results(analysis: Analysis, out: Path, page: str, kept: Path | None) -> None:
    """The index last: where it is, everything it speaks of is too. `kept` holds files to keep as well."""
    _refuse_other_bundle(analysis, out)
    if kept is not None:
        publish_folder(kept / EXTRACTED, out / EXTRACTED)
    results = {
        MANIFEST: manifest_to_json(analysis.manifest),
        REPORT: page.encode(),
        INDEX: index_to_json(analysis.index),
    }
    try:
        publish(out, results)
    except BaseException:
        if kept is not None:
            shutil.rmtree(out / EXTRACTED)
        raise


def _refuse_other_bundle(analysis: Analysis, out: Path) -> None:
    there = out / MANIFEST
    if not there.is_file():
        return
    try:
        earlier = manifest_from_json(there.read_bytes()).expected_files
    except ValueError:
        raise InputRefused(f"{there} is not a manifest of ours", hint="choose another --out") from None
    if {file.sha256 for file in earlier} != {file.sha256 for file in analysis.manifest.expected_files}:
        raise InputRefused(
            f"{out} holds the evidence of another bundle",
            hint="evidence is never overwritten: choose another --out",
        )


def _window(options: AnalyzeOptions, index: FindingsIndex) -> Window:
    before = index.clock.collected_at or datetime.now(UTC)
    since = _moment(options.since, before=before) if options.since is not None else None
    until = _moment(options.until, before=before) if options.until is not None else None
    if since is not None and until is not None and since > until:
        raise InputRefused(f"--since {options.since} is after --until {options.until}", hint="swap them")
    return Window(since=since, until=until)


def _moment(given: str, *, before: datetime) -> datetime:
    """A time, UTC unless it names a zone, or a span such as `2h` counted back from the collection."""
    if (span := _BEFORE.fullmatch(given)) is not None:
        return _before(span, before)
    try:
        moment = datetime.fromisoformat(given)
    except ValueError:
        raise InputRefused(
            f"{given!r} is not a time", hint="write 2026-01-15T10:00 (UTC), 2026-01-15T10:00+02:00, or 2h"
        ) from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _before(span: re.Match[str], moment: datetime) -> datetime:
    try:
        return moment - timedelta(**{_UNITS[span[2]]: int(span[1])})
    except (OverflowError, ValueError):
        raise InputRefused(
            f"{span[0][:40]} is longer ago than a time can be", hint="leave the option out for everything there is"
        ) from None


def _present(shown: View, analysis: Analysis, knowledge: Knowledge, options: AnalyzeOptions) -> None:
    if options.is_quiet or options.form == "json":
        _warn(analysis)
    if options.form == "json":
        write_json(index_to_json(_told(shown)))
    elif options.form == "markdown":
        sys.stdout.write(render_markdown(shown, analysis.manifest, knowledge))
    else:
        console = make_console(no_color=options.no_color)
        print_report(console, shown, analysis.manifest, knowledge, is_quiet=options.is_quiet)
        if options.out is not None and not options.is_quiet:
            console.print(f"Written to {options.out}: {MANIFEST}, {INDEX}, {REPORT}")


def _warn(analysis: Analysis) -> None:
    """Where no report leads with it: silence would say that all of the bundle was looked at."""
    if loss := loss_line(analysis.manifest, analysis.index.coverage):
        print(f"affidavit: {harmless(loss)}", file=sys.stderr)


def _told(shown: View) -> FindingsIndex:
    """The record has no place for what a filter left out, so that is one of its gaps."""
    left_out = (f"not shown: {line}" for line in left_out_lines(shown))
    return replace(shown.index, gaps=(*shown.index.gaps, *left_out))


def _verdict(shown: View, analysis: Analysis, fail_on: Severity | None) -> Exit:
    """What --severity hides counts too: it chooses what is printed, not what is wrong with the node. A bundle that was
    read in part passes for nothing."""
    if fail_on is None:
        return Exit.DONE
    if any(finding.severity.is_at_least(fail_on) for finding in shown.in_window):
        return Exit.FOUND
    return Exit.UNAVAILABLE if losses(analysis.manifest, analysis.index.coverage) else Exit.DONE
