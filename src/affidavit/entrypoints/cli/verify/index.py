"""Runs `affidavit verify`: re-checks an index against its bundle."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError
from rich.console import Console

from affidavit.bundle.manifest import Manifest, manifest_from_json
from affidavit.bundle.workspace import workspace
from affidavit.entrypoints.cli.exit_codes import Exit
from affidavit.entrypoints.cli.progress import progress_line
from affidavit.entrypoints.report.terminal_escapes_and_colours import make_console, text
from affidavit.errors import InputRefused
from affidavit.evidence.finding import Finding
from affidavit.index.findings_index import index_json
from affidavit.investigation import Verification, VerifiedFinding, verify
from affidavit.knowledge import load_knowledge

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

# At most so many failed claims are listed; the first matters most.
_LISTED = 20


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    index: Path
    bundle: str
    rules: Path | None = None
    key: Path | None = None
    no_color: bool = False
    is_quiet: bool = False


def run_verify(options: VerifyOptions) -> Exit:
    written = _read_index(options.index)
    if options.bundle == "-":
        raise InputRefused("verify reads a bundle from disk", hint="give the path of the archive or directory")
    key = _public_key(options.key) if options.key is not None else None
    knowledge = load_knowledge(options.rules)
    path = Path(options.bundle)
    with workspace() as folder, progress_line(path, is_quiet=options.is_quiet) as progress:
        verification = verify(
            written,
            path,
            knowledge=knowledge,
            workspace=folder,
            progress=progress,
            workers=os.cpu_count() or 1,
            manifest=_manifest_beside(options.index),
            name=str(options.index),
        )
    if key is not None:
        fell = tuple(_signature_problems(options, written, verification.archive_sha256, key))
        verification = replace(verification, fallen=(*fell, *verification.fallen))
    return _present(verification, options)


def _public_key(path: Path) -> "Ed25519PublicKey":
    from affidavit.signing.keys import read_public_key

    return read_public_key(path)


def _signature_problems(
    options: VerifyOptions, written: bytes, archive_sha256: str | None, key: "Ed25519PublicKey"
) -> Iterator[str]:
    """Problems of the signed statement that lies with the index, checked with the caller's trusted key."""
    from affidavit.signing.envelope import opened
    from affidavit.signing.statement import INDEX_NAME, STATEMENT_NAME, subject_differences

    there = options.index.parent / STATEMENT_NAME
    try:
        text_of_statement = there.read_bytes()
    except OSError:
        yield f"statement: there is no {there}, so nobody signed this index"
        return
    statement = opened(text_of_statement, key, name=str(there))
    if statement is None:
        yield f"statement: {there} is not signed by this key"
        return
    beside = (path for path in options.index.parent.iterdir() if path.suffix in (".json", ".html", ".md"))
    files = {path.name: path.read_bytes() for path in beside if path.is_file() and path.name != STATEMENT_NAME}
    yield from subject_differences(statement, {**files, INDEX_NAME: written}, archive_sha256)


def _read_index(path: Path) -> bytes:
    try:
        written = path.read_bytes()
    except OSError as error:
        raise InputRefused(
            f"{path} cannot be read: {error.strerror}", hint="give it the findings_index.json that --out wrote"
        ) from error
    try:
        is_view = "filter" in index_json(written)
    except (ValueError, TypeError, RecursionError):
        return written  # refused with its reason where it is read as an index
    if is_view:
        raise InputRefused(
            f"{path} shows part of an index (what --severity, --since or --until left)",
            hint="give it the findings_index.json that --out wrote",
        )
    return written


def _manifest_beside(index: Path) -> Manifest | None:
    """The manifest that `--out` wrote with the index."""
    there = index.parent / "manifest.json"
    try:
        return manifest_from_json(there.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise InputRefused(
            f"{there} cannot be used as a manifest", hint="put back the one that --out wrote, or move the index away"
        ) from error


def _present(verification: Verification, options: VerifyOptions) -> Exit:
    console = make_console(no_color=options.no_color)
    if verification.is_other_bundle:
        console.print(text(f"{options.bundle} is another bundle than the one this index was made from.", "bold red"))
        return Exit.FOUND
    _print_evidence(console, verification, is_quiet=options.is_quiet)
    for claim in verification.fallen[:_LISTED]:
        console.print(text("BROKEN ", "bold red"), text(claim, "red"), sep="")
    if len(verification.fallen) > _LISTED:
        console.print(text(f"       and {len(verification.fallen) - _LISTED} more claims", "red"))
    for said in _summary(verification, is_signed=options.key is not None, is_quiet=options.is_quiet):
        console.print(said)
    if not verification.holds:
        return Exit.FOUND
    return Exit.UNAVAILABLE if verification.unproven else Exit.DONE


def _print_evidence(console: Console, verification: Verification, *, is_quiet: bool) -> None:
    for entry in verification.broken if is_quiet else verification.evidence:
        evidence = entry.finding.evidence
        line = evidence.line_range.start if evidence.line_range is not None else "?"
        mark = text("holds ", "green") if entry.check.holds else text("BROKEN", "bold red")
        console.print(mark, text(f" {_label(entry)}  {evidence.source_file}:{line}"), sep="")
        for problem in entry.check.problems:
            console.print(text(f"         {problem}", "red"))


def _summary(verification: Verification, *, is_signed: bool, is_quiet: bool) -> list[object]:
    said: list[object] = []
    broken, count = len(verification.broken), len(verification.evidence)
    if broken:
        said.append(text(f"{broken} of {count} pieces of evidence do not hold.", "bold red"))
    if verification.fallen:
        said.append(text(f"The index does not hold: {verification.fallen[0]}.", "bold red"))
    if verification.unproven and not broken:
        rest = "counts, severities, times and coverage were not derived again"
        said.append(text(f"The evidence holds, but {rest}: {verification.unproven}.", "yellow"))
    elif verification.holds and not is_quiet:
        evidence = f"All {count} pieces of evidence hold, byte for byte" if count else "It has no findings"
        said.append(f"{evidence}; everything else in the index was derived again from the bundle and agrees.")
    if verification.holds and is_signed and not is_quiet:
        said.append("The signature is of this key, over this index and this bundle.")
    return said


def _label(entry: VerifiedFinding) -> str:
    finding = entry.finding
    return (
        f"{finding.finding_id} {finding.pattern}" if isinstance(finding, Finding) else f"suppressed {finding.pattern}"
    )
