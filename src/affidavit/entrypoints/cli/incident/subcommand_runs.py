"""What the commands of `affidavit incident` do."""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from affidavit.bootstrap import App, build_app
from affidavit.entrypoints.cli.exit_codes import Exit
from affidavit.entrypoints.cli.incident.node_submission import node_incident, wait_for_evidence
from affidavit.entrypoints.cli.incident.text import print_incident, print_list, told_as_json
from affidavit.entrypoints.package_extras import need_extras
from affidavit.entrypoints.report.terminal_escapes_and_colours import make_console
from affidavit.entrypoints.supervisor_wiring import build_supervisor
from affidavit.errors import InputRefused
from affidavit.incidents.incident import Incident, IncidentId
from affidavit.incidents.intake.alert_incident import NotAFault
from affidavit.incidents.intake.event_reader import AlertReading, BadRecord, BundleNews, read_alert, readings_of
from affidavit.incidents.store.state import IncidentState, not_known
from affidavit.incidents.supervisor import Supervisor
from affidavit.incidents.telemetry import to_nowhere
from affidavit.settings import Settings

if TYPE_CHECKING:
    from affidavit.agent.toolbox.tool_providers import Toolbox
    from affidavit.evaluation.incidents.workload_scenarios import WorkloadScenario

LOOK_SECONDS = 2.0


@dataclass(frozen=True, kw_only=True)
class Submission:
    alert: str | None
    scenario: str | None
    is_offline: bool
    minutes: int
    node: str | None = None
    bundle: Path | None = None


def run_submit(wish: Submission, *, as_json: bool, no_color: bool) -> Exit:
    need_extras("agent")
    scenario = _scenario(wish.scenario) if wish.scenario is not None else None
    supervisor = _supervisor(wish, scenario)
    names = [_submit_one(incident, supervisor, wish.minutes) for incident in _incidents(wish, scenario, supervisor)]
    for name in names:
        wait_for_evidence(name, supervisor, minutes=wish.minutes, no_color=no_color)
    if as_json and len(names) != 1:
        return _present_list(list(dict.fromkeys(names)), supervisor)
    return max((_present(one, supervisor, as_json=as_json, no_color=no_color) for one in names), default=Exit.DONE)


def run_redrive(name: str, wish: Submission, *, no_color: bool) -> Exit:
    need_extras("agent")
    scenario = _scenario(wish.scenario) if wish.scenario is not None else None
    supervisor = _supervisor(wish, scenario)
    supervisor.redrive(IncidentId(name), remaining=timedelta(minutes=wish.minutes))
    return _present(IncidentId(name), supervisor, as_json=False, no_color=no_color)


def run_list(*, days: int, limit: int, as_json: bool, no_color: bool) -> Exit:
    supervisor = _reader()
    today = supervisor.clock.now()
    by_day = (supervisor.states.listed(today - timedelta(days=back), limit=limit + 1) for back in range(days))
    found = list(islice(chain.from_iterable(by_day), limit + 1))
    shown = [(state, supervisor.contexts.get_context(state.incident.incident_id)) for state in found[:limit]]
    if as_json:
        print(json.dumps([told_as_json(state, context) for state, context in shown], indent=2))
    else:
        print_list(shown, make_console(no_color=no_color), days=days, is_cut=len(found) > limit)
    return Exit.DONE


def run_show(name: str, *, as_json: bool, no_color: bool) -> Exit:
    return _present(IncidentId(name), _reader(), as_json=as_json, no_color=no_color)


def run_watch(name: str, *, minutes: int, no_color: bool) -> Exit:
    supervisor, until = _reader(), time.monotonic() + minutes * 60
    console, told = make_console(no_color=no_color, to_errors=True), ""
    state = _state(IncidentId(name), supervisor)
    while _is_moving(state) and time.monotonic() < until:
        line = f"{state.status}, attempt {state.attempts}, last sign of life {state.updated_at:%H:%M:%S} UTC"
        if line != told:
            console.print(line)
            told = line
        time.sleep(LOOK_SECONDS)
        state = _state(IncidentId(name), supervisor)
    return _present(IncidentId(name), supervisor, as_json=False, no_color=no_color)


def _is_moving(state: IncidentState) -> bool:
    return state.status.is_open or state.next_attempt_at is not None


def _submit_one(incident: Incident, supervisor: Supervisor, minutes: int) -> IncidentId:
    return supervisor.receive(incident, remaining=timedelta(minutes=minutes)).incident_id


def _present_list(names: list[IncidentId], supervisor: Supervisor) -> Exit:
    """One JSON document, however many records the event held."""
    told = [(_state(one, supervisor), supervisor.contexts.get_context(one)) for one in names]
    print(json.dumps([told_as_json(state, context) for state, context in told], indent=2))
    return Exit.DONE if all(state.status.has_diagnosis for state, _ in told) else Exit.FOUND


def _present(incident_id: IncidentId, supervisor: Supervisor, *, as_json: bool, no_color: bool) -> Exit:
    state, context = _state(incident_id, supervisor), supervisor.contexts.get_context(incident_id)
    if as_json:
        print(json.dumps(told_as_json(state, context), indent=2))
    else:
        print_incident(state, context, make_console(no_color=no_color))
    return Exit.DONE if state.status.has_diagnosis else Exit.FOUND


def _state(incident_id: IncidentId, supervisor: Supervisor) -> IncidentState:
    state = supervisor.states.get_state(incident_id)
    if state is None:
        raise not_known(incident_id)
    return state


# --- what is handed over ---------------------------------------------------------------------------------------------


def _incidents(wish: Submission, scenario: "WorkloadScenario | None", supervisor: Supervisor) -> list[Incident]:
    if wish.node is not None:
        return [_named_node(wish)]
    if wish.bundle is not None:
        raise InputRefused("--bundle needs --node", hint="name the node that the bundle is of: --node i-…")
    if wish.alert is None and scenario is None:
        raise InputRefused(
            "there is no alert", hint="give a JSON file, - for standard input, --node INSTANCE or --scenario NAME"
        )
    if wish.alert is None and scenario is not None:
        # Scenarios share one function and one alarm, so without a change the second alert would be a duplicate.
        own = IncidentId(f"scenario-{scenario.scenario_id}")
        found = [_fault(notice) for notice in _notices(scenario.event(), supervisor)]
        return [replace(incident, incident_id=own, may_join=None) for incident in found]
    return [_fault(notice) for notice in _notices(_read(str(wish.alert)), supervisor)]


def _named_node(wish: Submission) -> Incident:
    if wish.alert is not None or wish.scenario is not None:
        raise InputRefused("--node brings its own alert", hint="leave out the alert file and --scenario")
    return node_incident(str(wish.node), wish.bundle, build_app(Settings.from_environment()))


def _notices(event: Any, supervisor: Supervisor) -> list[AlertReading]:
    now = supervisor.clock.now()
    if isinstance(event, dict) and "Records" in event:
        return readings_of(event, now=now)  # pyright: ignore[reportUnknownArgumentType] any JSON object
    return [read_alert(event, now=now)]


def _fault(notice: AlertReading) -> Incident:
    match notice:
        case BadRecord():
            raise InputRefused(f"the alert cannot be read: {notice.problem}", hint="see `affidavit incident submit -h`")
        case NotAFault():
            raise InputRefused(f"this reports no fault: {notice.why}", hint="only an alarm that fired is an incident")
        case BundleNews():
            raise InputRefused("this is news of a bundle and no alert", hint="give an alert, or --node INSTANCE")
        case Incident():
            return notice


def _read(name: str) -> Any:
    try:
        return json.loads(sys.stdin.read() if name == "-" else Path(name).read_text())
    except OSError as error:
        raise InputRefused(f"{name} cannot be read: {error.strerror}", hint="give a JSON file with an alert") from error
    except ValueError as error:
        raise InputRefused(f"{name} is not JSON: {error}", hint="give the alert as its sender wrote it") from error


def _scenario(name: str) -> "WorkloadScenario":
    from affidavit.evaluation.incidents.workload_scenarios import SCENARIOS, load_workload_scenario

    path = Path(name) if name.endswith((".yaml", ".yml")) else SCENARIOS / f"{name}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(one.stem for one in SCENARIOS.glob("*.yaml") if not one.name.startswith("base")))
        raise InputRefused(f"there is no scenario {name}", hint=f"there are {known}")
    return load_workload_scenario(path)


# --- who works -------------------------------------------------------------------------------------------------------


def _supervisor(wish: Submission, scenario: "WorkloadScenario | None") -> Supervisor:
    settings = Settings.from_environment()
    # A scenario needs no chat model, but whoever named a provider wants that one, and hears what it lacks.
    has_chat = bool(settings.chat_model_id) or "chat_provider" in settings.model_fields_set
    if wish.is_offline or (scenario is not None and not has_chat):
        settings = settings.model_copy(update={"chat_provider": "offline"})
    app: App = build_app(settings)
    return build_supervisor(app, emit=to_nowhere, toolbox=_tools_of(scenario) if scenario is not None else None)


def _tools_of(scenario: "WorkloadScenario") -> "Callable[[], Toolbox]":
    def toolbox() -> "Toolbox":
        from affidavit.agent.toolbox.tool_providers import DirectToolProvider

        return lambda _: DirectToolProvider(scenario.workloads())

    return toolbox


def _reader() -> Supervisor:
    return build_supervisor(build_app(Settings.from_environment()), emit=to_nowhere)
