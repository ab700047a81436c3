"""Runs `affidavit analyze`: analyzes a bundle or logs, writes results, prints the report."""

import json
import os
import re
import shutil
import sys
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from affidavit.bundle.atomic_publishing import exclusive, prepare_output, publish, publish_folder
from affidavit.bundle.manifest import manifest_from_json, manifest_to_json
from affidavit.bundle.sources.opening import save_stream
from affidavit.bundle.workspace import workspace
from affidavit.entrypoints.cli.exit_codes import Exit
from affidavit.entrypoints.cli.keys import signer_of
from affidavit.entrypoints.cli.locale_safe_output import write_json
from affidavit.entrypoints.cli.progress import progress_line
from affidavit.entrypoints.report.content import left_out_lines
from affidavit.entrypoints.report.html import render_html
from affidavit.entrypoints.report.long_line_excerpts import QuotedLines, quoted_lines
from affidavit.entrypoints.report.markdown import render_markdown
from affidavit.entrypoints.report.terminal import print_report
from affidavit.entrypoints.report.terminal_escapes_and_colours import harmless, make_console
from affidavit.entrypoints.report.unread_files import loss_line, losses
from affidavit.errors import InputRefused
from affidavit.evidence.severity import Severity
from affidavit.index.filtered import TimeWindow, View, view
from affidavit.index.findings_index import FindingsIndex, index_document, index_to_json
from affidavit.index.redacted import redacted_index
from affidavit.investigation import EXTRACTED, Analysis, analyze
from affidavit.knowledge import Knowledge, load_knowledge
from affidavit.nodes.correlation.correlate import correlate
from affidavit.ports.signer import Signer

STANDARD_INPUT = "standard-input.log"
MANIFEST = "manifest.json"
INDEX = "findings_index.json"
REPORT = "report.html"
_BEFORE = re.compile(r"(\d+)([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


@dataclass(frozen=True, kw_only=True)
class AnalyzeOptions:
    bundles: tuple[str, ...]
    out: Path | None
    is_extracting: bool
    form: str
    least: Severity
    since: str | None
    until: str | None
    rules: Path | None
    fail_on: Severity | None
    sign: str | None
    is_raw: bool
    has_full_lines: bool
    workers: int | None
    no_color: bool
    is_quiet: bool


def run_analyze(options: AnalyzeOptions) -> Exit:
    _refuse_contradictions(options)
    signer = signer_of(options.sign) if options.sign is not None else None
    knowledge = load_knowledge(options.rules)
    if options.out is not None:
        prepare_output(options.out)
    with workspace(beside=options.out if options.is_extracting else None) as folder:
        paths = _bundle_paths(options.bundles, folder)
        with progress_line(paths[0], is_quiet=options.is_quiet) as progress:
            analysis = analyze(
                paths,
                knowledge=knowledge,
                workspace=folder,
                progress=progress,
                workers=options.workers or os.cpu_count() or 1,
                name=STANDARD_INPUT if options.bundles == ("-",) else None,
            )
        if not options.is_raw:
            analysis = replace(analysis, index=redacted_index(analysis.index))
        shown = view(analysis.index, least=options.least, window=_window(options, analysis.index))
        # While the files are there: long lines are read again, and the page quotes the lines around each finding.
        quoted = quoted_lines(
            shown.index.findings, analysis.bundle, knowledge, is_full=options.has_full_lines, is_raw=options.is_raw
        )
        if options.out is not None:
            page = render_html(shown, analysis, knowledge, correlate(shown.index), quoted, is_raw=options.is_raw)
            write_results(analysis, options.out, page, folder if options.is_extracting else None, signer)
    _present(shown, analysis, knowledge, quoted, options)
    return _verdict(shown, analysis, options.fail_on)


def _refuse_contradictions(options: AnalyzeOptions) -> None:
    if options.is_extracting and options.out is None:
        raise InputRefused("--extract needs a place to keep the files", hint="add --out DIR")
    if options.sign is not None and options.out is None:
        raise InputRefused("--sign needs a place to keep the statement", hint="add --out DIR")
    for given in (options.since, options.until):
        if given is not None:
            _moment(given, before=datetime.now(UTC))


def _bundle_paths(bundles: tuple[str, ...], folder: Path) -> list[Path]:
    if "-" not in bundles:
        return [Path(bundle) for bundle in bundles]
    if len(bundles) > 1:
        raise InputRefused("standard input cannot be analyzed together with files", hint="give one or the other")
    if sys.stdin.isatty():
        raise InputRefused("standard input is a terminal", hint="pipe a bundle in, or give its path")
    return [save_stream(sys.stdin.buffer, folder / "standard-input")]


def write_results(analysis: Analysis, out: Path, page: str, kept: Path | None, signer: Signer | None = None) -> None:
    """Writes the index last: where it is, everything it refers to is too. `kept` holds further files to keep."""
    with exclusive(out):
        _write_alone(analysis, out, page, kept, signer)


def _write_alone(analysis: Analysis, out: Path, page: str, kept: Path | None, signer: Signer | None) -> None:
    _refuse_other_bundle(analysis, out)
    if kept is not None:
        publish_folder(kept / EXTRACTED, out / EXTRACTED)
    results = {
        MANIFEST: manifest_to_json(analysis.manifest),
        REPORT: page.encode(),
        INDEX: index_to_json(analysis.index),
    }
    # Signed before anything is written: a key in KMS may refuse.
    signed = {} if signer is None else _signed(analysis, results, signer)
    try:
        publish(out, {**signed, **results})
    except BaseException:
        if kept is not None:
            shutil.rmtree(out / EXTRACTED)
        raise


def _signed(analysis: Analysis, results: dict[str, bytes], signer: Signer) -> dict[str, bytes]:
    # Here, not above: most runs sign nothing, and the library takes a while to load.
    from affidavit.signing.envelope import sealed
    from affidavit.signing.statement import STATEMENT_NAME, index_statement

    statement = index_statement(analysis.index, analysis.manifest, results)
    return {STATEMENT_NAME: sealed(statement, signer)}


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


def _window(options: AnalyzeOptions, index: FindingsIndex) -> TimeWindow:
    before = index.clock.collected_at or datetime.now(UTC)
    since = _moment(options.since, before=before) if options.since is not None else None
    until = _moment(options.until, before=before) if options.until is not None else None
    if since is not None and until is not None and since > until:
        raise InputRefused(f"--since {options.since} is after --until {options.until}", hint="swap them")
    return TimeWindow(since=since, until=until)


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


def _present(
    shown: View, analysis: Analysis, knowledge: Knowledge, quoted: QuotedLines, options: AnalyzeOptions
) -> None:
    if options.is_raw:
        print("affidavit: --raw: secrets in log lines are shown and written as they are", file=sys.stderr)
    if options.is_quiet or options.form == "json":
        _warn(analysis)
    if options.form == "json":
        write_json(_as_json(shown, options))
    elif options.form == "markdown":
        sys.stdout.write(render_markdown(shown, analysis.manifest, knowledge, quoted))
    else:
        console = make_console(no_color=options.no_color)
        print_report(console, shown, analysis.manifest, knowledge, quoted, is_quiet=options.is_quiet)
        if options.out is not None and not options.is_quiet:
            console.print(f"Written to {options.out}: {', '.join(_written(options))}")


def _written(options: AnalyzeOptions) -> tuple[str, ...]:
    if options.sign is None:
        return MANIFEST, INDEX, REPORT
    from affidavit.signing.statement import STATEMENT_NAME

    return MANIFEST, INDEX, REPORT, STATEMENT_NAME


def _warn(analysis: Analysis) -> None:
    """Warns on standard error when no report says it: silence would mean that the whole bundle was read."""
    if loss := loss_line(analysis.manifest, analysis.index.coverage):
        print(f"affidavit: {harmless(loss)}", file=sys.stderr)


def _as_json(shown: View, options: AnalyzeOptions) -> bytes:
    """The index as JSON. A filter leaves out findings but changes no count, and is named under `filter`."""
    if options.least is Severity.INFO and options.since is None and options.until is None:
        return index_to_json(shown.index)
    asked = {"severity": options.least.value, "since": options.since, "until": options.until}
    listed = {"findings_shown": len(shown.index.findings), "not_shown": left_out_lines(shown)}
    return json.dumps({**index_document(shown.index), "filter": {**asked, **listed}}).encode() + b"\n"


def _verdict(shown: View, analysis: Analysis, fail_on: Severity | None) -> Exit:
    """The exit code. Findings that --severity hides count too, because it only chooses what is printed.

    A bundle that was read only in part never passes.
    """
    if fail_on is None:
        return Exit.DONE
    if any(finding.severity.is_at_least(fail_on) for finding in shown.in_window):
        return Exit.FOUND
    return Exit.UNAVAILABLE if losses(analysis.manifest, analysis.index.coverage) else Exit.DONE
