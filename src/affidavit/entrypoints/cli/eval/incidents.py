"""`affidavit eval incidents`: every scenario through the supervisor that production runs, over local stores."""

import os
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from affidavit.bootstrap import App, build_app
from affidavit.entrypoints.supervision import build_supervisor
from affidavit.evaluation.incident_result import IncidentsResult, incidents_result
from affidavit.evaluation.incident_runs import run_incident
from affidavit.evaluation.incidents import IncidentRun
from affidavit.evaluation.workload_scenarios import SCENARIOS, WorkloadScenario, load_workload_scenarios
from affidavit.incidents.supervisor import Supervisor
from affidavit.incidents.telemetry import to_nowhere
from affidavit.settings import Settings

if TYPE_CHECKING:
    from affidavit.agent.toolbox import Toolbox

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
    from affidavit.agent.providers import chat_model

    scenarios = load_workload_scenarios(wish.scenarios or SCENARIOS)
    settings = Settings.from_environment().model_copy(update={"chat_provider": wish.provider})
    # A chat model that is not configured is no bad score: it is refused before the first run.
    chat_model(settings)
    runs: list[IncidentRun] = []
    for done in side_by_side(partial(_run_scenario, settings, wish.k), scenarios, wish.workers):
        runs += done
        show(f"{len(runs)} of {len(scenarios) * wish.k} runs  {done[0].scenario}")
    return incidents_result(scenarios, runs, provider=wish.provider, k=wish.k)


def _run_scenario(settings: Settings, k: int, scenario: WorkloadScenario) -> list[IncidentRun]:
    with thrown_away(settings, runs=k) as app:
        return [run_incident(scenario, attempt, supervisor_of(app, scenario)) for attempt in range(1, k + 1)]


def side_by_side(run: Callable[[In], Out], each: Sequence[In], workers: int | None) -> Iterator[Out]:
    """In the order given, in processes. Twice as many as cores by default: a run waits for disks and replies."""
    many = workers or 2 * (os.cpu_count() or 1)
    with ProcessPoolExecutor(max_workers=min(many, len(each)), mp_context=get_context("fork")) as pool:
        yield from pool.map(run, each)


@contextmanager
def thrown_away(settings: Settings, *, runs: int) -> Generator[App]:
    """Stores of their own that are gone afterwards; the circuit breaker has room for all `runs`."""
    with tempfile.TemporaryDirectory(prefix="affidavit-eval-") as folder:
        own = {"data_dir": Path(folder), "logs_bucket": "", "max_incidents_per_hour": runs}
        yield build_app(settings.model_copy(update=own))


def supervisor_of(app: App, scenario: WorkloadScenario) -> Supervisor:
    """Its tools see the scenario's account and no other."""

    def toolbox() -> "Toolbox":
        from affidavit.agent.toolbox import DirectToolProvider

        return lambda _: DirectToolProvider(scenario.workloads())

    return build_supervisor(app, emit=to_nowhere, toolbox=toolbox)
