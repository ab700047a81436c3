"""`affidavit eval incidents`: every scenario through the supervisor that production runs, over local stores."""

import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from affidavit.bootstrap import build_app
from affidavit.entrypoints.supervision import build_supervisor
from affidavit.evaluation.incident_result import IncidentsResult, incidents_result
from affidavit.evaluation.incident_runs import Supervise, run_scenarios
from affidavit.evaluation.incidents import IncidentRun
from affidavit.evaluation.workload_scenarios import SCENARIOS, WorkloadScenario, load_workload_scenarios
from affidavit.incidents.supervisor import Supervisor
from affidavit.incidents.telemetry import to_nowhere
from affidavit.settings import Settings

Show = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class IncidentWish:
    provider: str
    k: int
    scenarios: Path | None


def evaluate_incidents(wish: IncidentWish, show: Show) -> IncidentsResult:
    scenarios = load_workload_scenarios(wish.scenarios or SCENARIOS)
    count = len(scenarios) * wish.k
    settings = Settings.from_environment().model_copy(update={"chat_provider": wish.provider})
    runs: list[IncidentRun] = []
    with supervised(settings, runs=count) as supervise:
        for run in run_scenarios(scenarios, wish.k, supervise):
            runs.append(run)
            show(f"{len(runs)} of {count} runs  {run.scenario}")
    return incidents_result(scenarios, runs, provider=wish.provider, k=wish.k)


@contextmanager
def supervised(settings: Settings, *, runs: int) -> Generator[Supervise]:
    """Supervisors over stores of their own that are thrown away; the circuit breaker has room for all `runs`."""
    with tempfile.TemporaryDirectory(prefix="affidavit-eval-") as folder:
        own = {"data_dir": Path(folder), "logs_bucket": "", "max_incidents_per_hour": runs}
        app = build_app(settings.model_copy(update=own))

        def supervise(scenario: WorkloadScenario) -> Supervisor:
            from affidavit.agent.toolbox import DirectToolProvider

            return build_supervisor(
                app, emit=to_nowhere, toolbox=lambda: lambda _: DirectToolProvider(scenario.workloads())
            )

        yield supervise
