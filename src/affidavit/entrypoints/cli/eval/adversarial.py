"""`affidavit eval adversarial`: lying chat models over real HTTP, through the client and supervisor of production."""

import logging
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from affidavit.entrypoints.cli.eval.incidents import Show, side_by_side, supervisor_of, thrown_away
from affidavit.evaluation.incidents.chat_model_attacks import AdversarialResult, AttackRun, adversarial_result, victim
from affidavit.evaluation.incidents.judged_lies import judge_lies
from affidavit.evaluation.incidents.labelled_diagnoses import load_told_situations
from affidavit.evaluation.incidents.workload_runs import run_incident
from affidavit.evaluation.incidents.workload_scenarios import WorkloadScenario, load_workload_scenarios
from affidavit.sandbox.chat_models.attacks import ATTACKS, attack
from affidavit.sandbox.chat_models.bedrock import PREFIX, BedrockSimulator, ConverseRequest, Reply, Script
from affidavit.sandbox.chat_models.forgeries import NEEDS_LONG_LOG
from affidavit.sandbox.chat_models.honest_model import good
from affidavit.settings import Settings

OBEYS_STRANGERS = "obeys-strangers"


def evaluate_adversarial(seeds: int, workers: int | None, show: Show) -> AdversarialResult:
    scenarios = load_workload_scenarios(with_folders=False)
    runs: list[AttackRun] = []
    for done in side_by_side(partial(run_attack, scenarios, seeds), ATTACKS, workers):
        runs += done
        show(f"{len(runs)} of {len(ATTACKS) * seeds} attacks  {done[0].attack}")
    show("diagnoses with true pointers, honest and false")
    return adversarial_result(ATTACKS, runs, seeds=seeds, lies=judge_lies(load_told_situations()))


def run_attack(scenarios: Sequence[WorkloadScenario], seeds: int, name: str) -> list[AttackRun]:
    liars = {f"{name}-{seed}": Liar(attack(name, seed)) for seed in range(seeds)}
    # Failed attempts are expected here, so they are not logged.
    logging.getLogger("affidavit.agent").setLevel(logging.ERROR)
    with _simulated(liars) as settings:
        return [
            _attacked(settings, name, seed, liar, _subject(scenarios, name, seed))
            for seed, liar in enumerate(liars.values())
        ]


def _subject(scenarios: Sequence[WorkloadScenario], name: str, seed: int) -> WorkloadScenario:
    return victim(
        scenarios,
        ATTACKS.index(name),
        seed,
        has_long_log=name in NEEDS_LONG_LOG,
        must_show_log=name == OBEYS_STRANGERS,
    )


@dataclass
class Liar:
    """A script that counts the replies in which it was not honest."""

    script: Script
    deviations: int = 0

    def __call__(self, request: ConverseRequest) -> Reply:
        reply = self.script(request)
        self.deviations += reply != good(request)
        return reply


def _attacked(settings: Settings, name: str, seed: int, liar: Liar, subject: WorkloadScenario) -> AttackRun:
    """Each run has its own stores: alerts of one function at one time would be one incident."""
    asked = settings.model_copy(update={"chat_model_id": f"{PREFIX}{name}-{seed}"})
    with thrown_away(asked, runs=1) as app:
        run = run_incident(subject, seed, supervisor_of(app, subject), name=f"{name}-")
    return AttackRun(attack=name, seed=seed, deviations=liar.deviations, run=run)


@contextmanager
def _simulated(scripts: Mapping[str, Script]) -> Generator[Settings]:
    with BedrockSimulator(scripts=scripts) as simulator, _environment(simulated_aws(simulator.url)):
        yield Settings.from_environment({"CHAT_PROVIDER": "bedrock"})


def simulated_aws(url: str) -> dict[str, str]:
    """Whatever the caller's own settings say, no request leaves this machine."""
    return {
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": url,
        "AWS_ENDPOINT_URL_BEDROCK": url,
        "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "false",
        "AWS_ACCESS_KEY_ID": "simulated",
        "AWS_SECRET_ACCESS_KEY": "simulated",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


@contextmanager
def _environment(values: Mapping[str, str]) -> Generator[None]:
    before = {name: os.environ.get(name) for name in (*values, "AWS_PROFILE")}
    os.environ.pop("AWS_PROFILE", None)
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
