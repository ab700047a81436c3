"""`affidavit eval incidents`: every scenario through the supervisor that production runs, over local stores."""

import os
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from affidavit.bootstrap import App, build_app, build_library
from affidavit.entrypoints.supervisor_wiring import build_supervisor
from affidavit.evaluation.incidents.metrics import IncidentRun
from affidavit.evaluation.incidents.node_runs import run_node_incident
from affidavit.evaluation.incidents.node_scenarios import NodeIncidentScenario, node_incident_scenarios
from affidavit.evaluation.incidents.result import IncidentsResult, incidents_result
from affidavit.evaluation.incidents.workload_runs import run_incident
from affidavit.evaluation.incidents.workload_scenarios import SCENARIOS, WorkloadScenario, load_workload_scenarios
from affidavit.incidents.supervisor import Supervisor
from affidavit.incidents.telemetry import to_nowhere
from affidavit.settings import Settings

if TYPE_CHECKING:
    from affidavit.agent.toolbox.tool_providers import Toolbox

Show = Callable[[str], None]
In = TypeVar("In")
Out = TypeVar("Out")


@dataclass(frozen=True, kw_only=True)
class IncidentWish:
    provider: str
    k: int
    scenarios: Path | None
    workers: int | None


def evaluate_incidents(wish: IncidentWish, show: Show) -> IncidentsResult:
    from affidavit.agent.chat.providers.model_choice import chat_model

    scenarios = load_workload_scenarios(wish.scenarios or SCENARIOS)
    settings = Settings.from_environment().model_copy(update={"chat_provider": wish.provider})
    # A missing chat model must not look like a bad score, so it is refused before the first run.
    chat_model(settings)
    # Scenarios of one's own are of functions.
    nodes = node_incident_scenarios() if wish.scenarios is None else ()
    runs: list[IncidentRun] = []
    for done in chain(
        side_by_side(partial(_run_scenario, settings, wish.k), scenarios, wish.workers),
        side_by_side(partial(_run_node, settings, wish.k), nodes, wish.workers),
    ):
        runs += done
        show(f"{len(runs)} of {(len(scenarios) + len(nodes)) * wish.k} runs  {done[0].scenario}")
    return incidents_result([*scenarios, *nodes], runs, provider=wish.provider, k=wish.k)


def _run_scenario(settings: Settings, k: int, scenario: WorkloadScenario) -> list[IncidentRun]:
    with thrown_away(settings, runs=k) as app:
        return [run_incident(scenario, attempt, supervisor_of(app, scenario)) for attempt in range(1, k + 1)]


def _run_node(settings: Settings, k: int, scenario: NodeIncidentScenario) -> list[IncidentRun]:
    with thrown_away(settings, runs=k) as app:
        supervisor = build_supervisor(app, emit=to_nowhere)
        return run_node_incident(scenario, range(1, k + 1), supervisor, build_library(app))


def side_by_side(run: Callable[[In], Out], each: Sequence[In], workers: int | None) -> Iterator[Out]:
    """Runs in parallel; results are in the order given. Twice as many processes as cores, as runs wait a lot."""
    if not each:
        return
    many = workers or 2 * (os.cpu_count() or 1)
    with ProcessPoolExecutor(max_workers=min(many, len(each)), mp_context=get_context("fork")) as pool:
        yield from pool.map(run, each)


@contextmanager
def thrown_away(settings: Settings, *, runs: int) -> Generator[App]:
    """Temporary stores. The circuit breaker allows all `runs`."""
    with tempfile.TemporaryDirectory(prefix="affidavit-eval-") as folder:
        own = {"data_dir": Path(folder), "logs_bucket": "", "max_incidents_per_hour": runs}
        yield build_app(settings.model_copy(update=own))


def supervisor_of(app: App, scenario: WorkloadScenario) -> Supervisor:
    """A supervisor whose tools see only the scenario's account."""

    def toolbox() -> "Toolbox":
        from affidavit.agent.toolbox.tool_providers import DirectToolProvider

        return lambda _: DirectToolProvider(scenario.workloads())

    return build_supervisor(app, emit=to_nowhere, toolbox=toolbox)
