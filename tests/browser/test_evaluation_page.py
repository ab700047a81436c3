"""The page of an evaluation in a real Chromium: it draws its plots, says what failed, and asks nobody for anything."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from affidavit.entrypoints.report.evaluation_page import render_evaluation
from affidavit.evaluation.accepted_baseline import stored_baseline
from affidavit.evaluation.gates import check_gates, load_gates
from affidavit.evaluation.history import past_run
from affidavit.evaluation.incidents.metrics import IncidentRun
from affidavit.evaluation.incidents.result import incidents_result
from affidavit.evaluation.incidents.workload_scenarios import load_workload_scenarios
from affidavit.evaluation.nodes.answer_snapshots import AnswerChange
from affidavit.evaluation.nodes.result import nodes_result
from affidavit.evaluation.nodes.rule_removals import Kind, Mutation, without
from affidavit.evaluation.nodes.runs import run_scenario
from affidavit.evaluation.nodes.scenario import load_scenarios
from affidavit.evaluation.nodes.verdicts.cases import verdict_cases
from affidavit.evaluation.nodes.verdicts.runs import judge_verdict
from affidavit.evaluation.run_result import EvaluationResult, measured
from affidavit.knowledge import load_knowledge
from tests.browser.chromium import chromium, needs_chromium
from tests.browser.pages import saved

pytestmark = needs_chromium
KNOWLEDGE = load_knowledge()
SOME = [scenario for scenario in load_scenarios() if scenario.id in ("nodeadm", "docker", "healthy-windows")]


def result(rule_removed: str | None = None) -> EvaluationResult:
    knowledge = without(KNOWLEDGE, Kind.RULE, rule_removed) if rule_removed else KNOWLEDGE
    mutations = [Mutation(kind=Kind.RULE, id="kernel.<b>panic</b>", caught_by=None)]
    verdicts = [judge_verdict(verdict_cases()[0], knowledge)]
    nodes = nodes_result([run_scenario(scenario, knowledge) for scenario in SOME], (), mutations, verdicts)
    return gated(a_result(nodes=nodes), "nodes")


def a_result(**parts: object) -> EvaluationResult:
    made = {"version": "1.0", "evaluated_at": datetime(2026, 1, 15, tzinfo=UTC), "knowledge_version": "k"}
    return EvaluationResult(**{"nodes": None, "seconds": 1.0, **made, **parts})


def gated(result: EvaluationResult, part: str) -> EvaluationResult:
    return replace(result, gates=check_gates(load_gates(), measured(result), (part,)))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page()
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: None if request.url.startswith("file:") else troubles.append(request.url))
    yield page
    page.close()
    assert troubles == []


def test_a_good_run_is_drawn_with_every_plot(page: Page, tmp_path: Path) -> None:
    good = result()
    page.goto(saved(render_evaluation(good, good), tmp_path))
    assert page.inner_text("#verdict") == "Every gate holds."
    assert page.locator("#heat tr").count() == 1 + len(SOME)
    assert page.locator("#plane circle").evaluate_all("all => all.map((one) => one.dataset.count)") == [str(len(SOME))]
    assert page.locator("#tools circle").count() == len(good.nodes.metrics)
    assert page.locator("#numbers tr").count() == 1 + len(good.nodes.metrics)
    assert page.locator("#latency rect").count() == 20
    assert page.locator("#trend tr").count() > 5
    assert page.locator("#troubles li").all_inner_texts() == ["None."]
    assert page.locator("#uncovered li").all_inner_texts() == ["rule kernel.<b>panic</b>"]


def test_a_history_is_drawn_as_a_line_for_each_number(page: Page, tmp_path: Path) -> None:
    good = result()
    first = past_run(good)
    numbers = {**first.numbers, "nodes.finding_recall": 0.5}
    runs = [replace(first, numbers=numbers, passes=False), first, replace(first, numbers={})]
    page.goto(saved(render_evaluation(good, None, runs), tmp_path))
    assert "3 runs" in page.inner_text("#trend-how")
    recall = page.locator("#trends .trend", has_text="nodes.finding recall")
    assert (recall.locator("circle").count(), recall.locator("circle.failed").count()) == (2, 1)
    assert "0.5 to 1" in recall.inner_text()
    assert page.locator("#trends .trend", has_text="nodes.finding precision").inner_text().endswith("always the same")


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 420])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_leaves_the_page_at_any_width(browser: Browser, width: int, scheme: str, tmp_path: Path) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(saved(render_evaluation(result("docker.daemon-failed"), stored_baseline()), tmp_path))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    colours = [page.evaluate(f"getComputedStyle(document.body).{name}") for name in ("color", "backgroundColor")]
    assert len(set(colours)) == 2
    page.close()


def test_a_changed_answer_unfolds_to_its_diff(page: Page, tmp_path: Path) -> None:
    good = result()
    change = AnswerChange(scenario="docker", what="tool errors changed", diff=("-  <b>before</b>", "+  after"))
    changed = replace(good, nodes=replace(good.nodes, changes=(change,)))
    page.goto(saved(render_evaluation(changed, None), tmp_path))
    assert not page.locator("#changes pre").is_visible()
    page.locator("#changes summary").click()
    assert page.inner_text("#changes pre") == "-  <b>before</b>\n+  after"


def test_a_bad_run_says_which_gate_failed_and_why(page: Page, tmp_path: Path) -> None:
    page.goto(saved(render_evaluation(result("docker.daemon-failed"), None), tmp_path))
    assert "failed." in page.inner_text("#verdict")
    assert page.locator("#gates .bad").count() >= 1
    assert "docker: missed" in page.inner_text("#troubles")
    assert "No baseline" in page.inner_text("#trend")
    assert "One run is no trend" in page.inner_text("#trend-how")
    assert page.locator("#gates tr").nth(1).locator(".bad").count() == 1


def test_incidents_are_shown_with_what_each_attempt_answered(page: Page, tmp_path: Path) -> None:
    scenarios = load_workload_scenarios()[:2]
    right = frozenset(fault.value for fault in scenarios[0].truth.fault_types)
    runs = [
        IncidentRun(scenario=scenarios[0].scenario_id, fault_types=right, claims=2, verified_claims=2),
        IncidentRun(scenario=scenarios[1].scenario_id, fault_types=None, failure="<b>no</b> answer"),
    ]
    made = gated(a_result(incidents=incidents_result(scenarios, runs, provider="offline", k=1)), "incidents")
    page.goto(saved(render_evaluation(made, made), tmp_path))
    assert page.inner_text("#verdict").endswith("failed.")
    assert page.locator("#incidents tr").count() == 1 + len(scenarios)
    assert "<b>no</b> answer" in page.inner_text("#incident-troubles")
    assert page.locator("#incident-numbers tr").count() > 10
    assert not page.locator("#heat").is_visible()
