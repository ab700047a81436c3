"""Runs `affidavit incident export`: writes an incident and its recorded evidence to a file."""

import os
import stat
import sys
from dataclasses import replace
from pathlib import Path

from affidavit.bootstrap import build_app
from affidavit.entrypoints.cli.exit_codes import Exit
from affidavit.entrypoints.cli.incident.replay import differences, replayed
from affidavit.entrypoints.cli.incident.signed_export import sealed_export, statement_path
from affidavit.entrypoints.report.terminal_escapes_and_colours import harmless
from affidavit.entrypoints.supervisor_wiring import build_supervisor
from affidavit.errors import EvidenceUnavailable, InputRefused
from affidavit.incidents.export.cassette import Cassette, cassette_to_json, record
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.store.state import not_known
from affidavit.incidents.telemetry import to_nowhere
from affidavit.settings import Settings


def run_export(name: str, *, out: Path | None, sign: str | None = None) -> Exit:
    if sign is not None and out is None:
        raise InputRefused("--sign needs a place to keep the statement", hint="add --out FILE")
    supervisor = build_supervisor(build_app(Settings.from_environment()), emit=to_nowhere)
    state, context = supervisor.states.get_state(IncidentId(name)), supervisor.contexts.get_context(IncidentId(name))
    if state is None:
        raise not_known(IncidentId(name))
    if context is None:
        raise EvidenceUnavailable(f"incident {name} was not investigated yet", hint="export it when it has ended")
    over = state.alerts_over_at
    cassette = _tried(record(state.incident, context, supervisor.records, supervisor.source, resolved_at=over))
    told = cassette_to_json(cassette)
    if out is None:
        sys.stdout.write(told)
    else:
        # First, so that a key that cannot sign leaves no export without its statement.
        statement = sealed_export(cassette, told.encode(), out, sign) if sign is not None else None
        _write(out, told)
        if statement is not None:
            _write(statement_path(out), statement.decode())
    for note in cassette.notes:
        sys.stderr.write(f"note: {harmless(note)}\n")
    return Exit.DONE


def _tried(cassette: Cassette) -> Cassette:
    """Replays the export once, so that the file says what it cannot reproduce."""
    _, context = replayed(cassette)
    differing = differences(cassette.diagnosis, context.diagnosis if context is not None else None)
    if not differing:
        return cassette
    note = f"played back, the diagnosis differs from the stored one: {', '.join(differing)}"
    return replace(cassette, notes=(*cassette.notes, note))


def _write(path: Path, told: str) -> None:
    """For the owner alone: it holds what logs and alerts said. A file that was there keeps no wider mode."""
    try:
        with os.fdopen(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                os.fchmod(file.fileno(), 0o600)
            file.write(told)
    except OSError as error:
        raise InputRefused(f"{path} cannot be written: {error.strerror}", hint="choose another --out") from error
