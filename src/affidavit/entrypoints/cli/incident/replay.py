"""Runs `affidavit incident replay`: diagnoses an exported incident again from its recorded answers, and compares."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from affidavit.entrypoints.cli.eval.incidents import thrown_away
from affidavit.entrypoints.cli.exit_codes import Exit
from affidavit.entrypoints.cli.incident.signed_export import signature_problems
from affidavit.entrypoints.cli.incident.text import print_incident
from affidavit.entrypoints.report.terminal_escapes_and_colours import make_console, text
from affidavit.entrypoints.supervisor_wiring import build_supervisor
from affidavit.errors import InputRefused
from affidavit.evidence.diagnosis import Diagnosis
from affidavit.incidents.attempt.diagnostician_port import Diagnostician
from affidavit.incidents.evidence.control_plane_port import TOOL as NODE_STATE
from affidavit.incidents.evidence.readiness import TOOL, RecordedEvidence
from affidavit.incidents.export.cassette import Cassette, Playback, cassette_from_json
from affidavit.incidents.export.cited_lines import CitedLines
from affidavit.incidents.store.state import IncidentState, not_known
from affidavit.incidents.store.stored_diagnoses import IncidentContext
from affidavit.incidents.telemetry import to_nowhere
from affidavit.ports.json import JsonValue
from affidavit.settings import Settings

if TYPE_CHECKING:
    from affidavit.agent.toolbox.tool_providers import Toolbox


def run_replay(path: Path, *, no_color: bool, key: Path | None = None) -> Exit:
    """Diagnoses again with the recorded chat turns, or by rules if there are none, and compares the diagnoses."""
    told = _read(path)
    cassette = cassette_from_json(told, name=str(path))
    console = make_console(no_color=no_color)
    if key is not None and (fallen := _unsigned(cassette, told, path, key)):
        console.print(text(f"BROKEN statement: {fallen}", "bold red"))
        return Exit.FOUND
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


def _unsigned(cassette: Cassette, told: str, path: Path, key: Path) -> str:
    from affidavit.signing.keys import read_public_key

    return next(signature_problems(cassette, told.encode(), path, read_public_key(key)), "")


def replayed(cassette: Cassette) -> tuple[IncidentState, IncidentContext | None]:
    """Replays through the supervisor and graph of production, in temporary stores."""
    with thrown_away(Settings.from_environment({"CHAT_PROVIDER": "offline"}), runs=1) as app:
        supervisor = build_supervisor(
            app,
            emit=to_nowhere,
            toolbox=lambda: _toolbox(cassette),
            source=CitedLines(cassette.lines),
            evidence=_evidence(cassette),
        )
        if cassette.turns:
            supervisor = replace(supervisor, diagnostician=lambda: _spoken(cassette))
        supervisor.receive(cassette.incident, remaining=timedelta(minutes=5))
        incident_id = cassette.incident.incident_id
        state, context = supervisor.states.get_state(incident_id), supervisor.contexts.get_context(incident_id)
    if state is None:
        raise not_known(incident_id)
    return state, context


def _evidence(cassette: Cassette) -> RecordedEvidence | None:
    """Which bundle of a node was chosen then, and how its control plane saw it."""
    newest = {entry.tool: entry.answer for entry in cassette.entries}
    chosen, state = newest.get(TOOL), newest.get(NODE_STATE)
    if not isinstance(chosen, Mapping):
        return None
    return RecordedEvidence(record=chosen, node_state=state if isinstance(state, Mapping) else None)


def _spoken(cassette: Cassette) -> Diagnostician:
    from affidavit.agent.chat.turn_replay import RecordedChat
    from affidavit.agent.run import ChatDiagnostician

    return ChatDiagnostician(
        chat=RecordedChat(turns=cassette.turns), toolbox=_toolbox(cassette), source=CitedLines(cassette.lines)
    )


def differences(recorded: Diagnosis | None, replayed: Diagnosis | None) -> list[str]:
    """Names of the fields that are not the same; empty when all are."""
    if recorded is None or replayed is None:
        return [] if recorded is replayed else ["one of them has no diagnosis"]
    left, right = recorded.model_dump(mode="json"), replayed.model_dump(mode="json")
    return [name for name in left if left[name] != right[name]]


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputRefused(f"{path} cannot be read: {error}", hint="give a file of `incident export`") from error


def _toolbox(cassette: Cassette) -> "Toolbox":
    return lambda _: _Recorded(Playback(cassette))


@dataclass(frozen=True)
class _Recorded:
    """Tools that return their recorded answers."""

    playback: Playback

    async def call_tool(self, name: str, arguments: Mapping[str, JsonValue]) -> str:
        return json.dumps(self.playback.answer(name, arguments))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass
