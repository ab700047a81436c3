"""`affidavit incident export` and `replay`: hand an incident on, investigate it again from what was recorded."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from affidavit.bootstrap import build_app
from affidavit.entrypoints.cli.eval_incidents import thrown_away
from affidavit.entrypoints.cli.exits import Exit
from affidavit.entrypoints.cli.incident_text import print_incident
from affidavit.entrypoints.report.screen import harmless, make_console, text
from affidavit.entrypoints.supervision import build_supervisor
from affidavit.errors import EvidenceUnavailable, InputRefused
from affidavit.evidence.diagnosis import Diagnosis
from affidavit.incidents.cassette import Cassette, Playback, cassette_from_json, cassette_to_json, record
from affidavit.incidents.context import Context
from affidavit.incidents.diagnostician import Diagnostician
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.state import State, not_known
from affidavit.incidents.telemetry import to_nowhere
from affidavit.ports import JsonValue
from affidavit.settings import Settings

if TYPE_CHECKING:
    from affidavit.agent.toolbox import Toolbox


def run_export(name: str, *, out: Path | None) -> Exit:
    supervisor = build_supervisor(build_app(Settings.from_environment()), emit=to_nowhere)
    state, context = supervisor.states.get_state(IncidentId(name)), supervisor.contexts.get_context(IncidentId(name))
    if state is None:
        raise not_known(IncidentId(name))
    if context is None:
        raise EvidenceUnavailable(f"incident {name} was not investigated yet", hint="export it when it has ended")
    cassette = _tried(record(state.incident, context, supervisor.records))
    told = cassette_to_json(cassette)
    if out is None:
        sys.stdout.write(told)
    else:
        _write(out, told)
    for note in cassette.notes:
        sys.stderr.write(f"note: {harmless(note)}\n")
    return Exit.DONE


def _tried(cassette: Cassette) -> Cassette:
    """Played back once before it leaves: what it does not bring back, it says."""
    _, context = replayed(cassette)
    differing = differences(cassette.diagnosis, context.diagnosis if context is not None else None)
    if not differing:
        return cassette
    note = f"played back, the diagnosis differs from the stored one: {', '.join(differing)}"
    return replace(cassette, notes=(*cassette.notes, note))


def run_replay(path: Path, *, no_color: bool) -> Exit:
    """The recorded turns, or rules where there are none, conclude from the recorded answers; then both are compared."""
    cassette = cassette_from_json(_read(path), name=str(path))
    console = make_console(no_color=no_color)
    state, context = replayed(cassette)
    print_incident(state, context, console)
    for note in cassette.notes:
        console.print(text(f"note: {note}", "yellow"))
    who = f"{len(cassette.turns)} turns of the chat model" if cassette.turns else "rules, as then"
    differing = differences(cassette.diagnosis, context.diagnosis if context is not None else None)
    if not differing:
        console.print(text(f"The diagnosis is the recorded one, word for word ({who}).", "green"))
        return Exit.DONE
    console.print(text(f"This differs from the recorded diagnosis ({who}): {', '.join(differing)}.", "bold red"))
    return Exit.FOUND


def replayed(cassette: Cassette) -> tuple[State, Context | None]:
    """Through the supervisor and the graph of production, in stores that are thrown away."""
    with thrown_away(Settings.from_environment({"CHAT_PROVIDER": "offline"}), runs=1) as app:
        supervisor = build_supervisor(app, emit=to_nowhere, toolbox=lambda: _toolbox(cassette))
        if cassette.turns:
            supervisor = replace(supervisor, diagnostician=lambda: _spoken(cassette))
        supervisor.receive(cassette.incident, remaining=timedelta(minutes=5))
        incident_id = cassette.incident.incident_id
        state, context = supervisor.states.get_state(incident_id), supervisor.contexts.get_context(incident_id)
    if state is None:
        raise not_known(incident_id)
    return state, context


def _spoken(cassette: Cassette) -> Diagnostician:
    from affidavit.agent.recorded import RecordedChat
    from affidavit.agent.run import ChatDiagnostician

    return ChatDiagnostician(chat=RecordedChat(turns=cassette.turns), toolbox=_toolbox(cassette))


def differences(recorded: Diagnosis | None, replayed: Diagnosis | None) -> list[str]:
    """Names of the fields that are not the same; empty when all are."""
    if recorded is None or replayed is None:
        return [] if recorded is replayed else ["one of them has no diagnosis"]
    left, right = recorded.model_dump(mode="json"), replayed.model_dump(mode="json")
    return [name for name in left if left[name] != right[name]]


def _write(path: Path, told: str) -> None:
    try:
        path.write_text(told, "utf-8")
    except OSError as error:
        raise InputRefused(f"{path} cannot be written: {error.strerror}", hint="choose another --out") from error


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputRefused(f"{path} cannot be read: {error}", hint="give a file of `incident export`") from error


def _toolbox(cassette: Cassette) -> "Toolbox":
    return lambda _: _Recorded(Playback(cassette))


@dataclass(frozen=True)
class _Recorded:
    """Tools that say what they said then."""

    playback: Playback

    async def call_tool(self, name: str, arguments: Mapping[str, JsonValue]) -> str:
        return json.dumps(self.playback.answer(name, arguments))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass
