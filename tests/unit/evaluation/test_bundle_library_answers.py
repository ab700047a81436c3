"""Every question about a stored bundle is measured and guarded; broken on purpose, it shows."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from affidavit.entrypoints.cli.eval.command import local_library
from affidavit.evaluation.nodes.answer_snapshots import accept, changes
from affidavit.evaluation.nodes.bundle_library_answers import MakeLibrary, library_answers, stock
from affidavit.evaluation.nodes.bundles import place
from affidavit.evaluation.nodes.evaluated_tools import MeasuredAnswer
from affidavit.evaluation.nodes.library_questions import ABSENT, NEIGHBOUR, QUESTIONS
from affidavit.evaluation.nodes.result import nodes_result
from affidavit.evaluation.nodes.runs import ScenarioRun, ToolRun, run_scenario
from affidavit.evaluation.nodes.scenario import Scenario, load_scenarios
from affidavit.evaluation.run_result import EvaluationResult, measured
from affidavit.evidence.severity import Severity
from affidavit.knowledge import Knowledge, load_knowledge
from affidavit.nodes.library.files_by_key import stored_file
from affidavit.nodes.library.indexed_bundles import Library, Shelf
from affidavit.nodes.questions.node_comparison import compare_nodes
from affidavit.nodes.wire.node_comparison import CompareNodesAnswer, CompareNodesRequest
from affidavit.ports.object_store import StoredObject

KNOWLEDGE = load_knowledge()
SCENARIOS = {scenario.id: scenario for scenario in load_scenarios()}


STOCKED: list[MakeLibrary] = []


@pytest.fixture(scope="module", autouse=True)
def stocked(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The second node is taken in once."""
    STOCKED[:] = [stock(tmp_path_factory.mktemp("stocked"), KNOWLEDGE, local_library)]


def run(name: str = "nodeadm") -> ScenarioRun:
    done = run_scenario(SCENARIOS[name], KNOWLEDGE, library=STOCKED[0])
    assert not done.failure, done.failure
    return done


def test_every_question_is_asked_and_answers_the_same_twice(tmp_path: Path) -> None:
    first = run()
    assert [tool.tool for tool in first.tools] == ["analyze", "correlate", *QUESTIONS]
    assert not [tool.tool for tool in first.tools if any("refused" in line for line in tool.lines)]
    accept([first], tmp_path)
    assert changes([run()], tmp_path) == ()


def test_an_answer_that_reads_differently_is_a_change_of_that_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept([run()], tmp_path)
    monkeypatch.setattr("affidavit.nodes.questions.summarize.CAVEAT", "Trust me.")
    (change,) = changes([run()], tmp_path)
    assert change.what == "tool summarize changed"


def tool(done: ScenarioRun, name: str) -> ToolRun:
    return next(each for each in done.tools if each.tool == name)


@pytest.mark.parametrize(
    ("name", "place", "lie"),
    [
        ("compare_nodes", "affidavit.nodes.questions.node_comparison._NODES_SHOWN", 0),
        ("cluster_health", "affidavit.nodes.questions.node_comparison._WORST", 1),
        ("artifact", "affidavit.nodes.questions.artifact.stored_file", "another file"),
    ],
)
def test_a_change_of_an_answer_about_several_nodes_or_a_link_is_seen(
    name: str, place: str, lie: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept([run("oom")], tmp_path)
    monkeypatch.setattr(place, another_file if name == "artifact" else lie)
    (change,) = changes([run("oom")], tmp_path)
    assert f"tool {name}" in change.what


def another_file(library: Library, log_key: str) -> StoredObject:
    shelf = library.open(log_key.split("/")[0].removeprefix("eks_"))
    other = next(one.evidence.full_key for one in shelf.index.findings if one.evidence.full_key != log_key)
    return stored_file(library, other)


def test_two_nodes_are_compared_and_the_third_is_said_to_be_unknown() -> None:
    seen: list[CompareNodesAnswer] = []

    def watched(library: Library, request: CompareNodesRequest) -> CompareNodesAnswer:
        seen.append(compare_nodes(library, request))
        return seen[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("affidavit.evaluation.nodes.library_questions.compare_nodes", watched)
        compared = tool(run("oom"), "compare_nodes")
    assert seen[0].without_bundle == [ABSENT]
    assert NEIGHBOUR in [node.instance_id for node in seen[0].nodes]
    assert "common high OOM killer invoked" in compared.lines
    assert compared.tally.returned > 5


def test_made_up_quotes_are_refuted_and_true_ones_hold() -> None:
    verdicts = [line.split()[1] for line in tool(run(), "verify_report").lines]
    assert verdicts[-1] == "quote_not_found"
    assert set(verdicts[:-1]) == {"holds"}


def test_citations_fall_when_the_stored_bytes_are_not_the_ones_that_were_read() -> None:
    class Spoiled(Library):
        """Somebody changes the files after they were taken in."""

        def open(self, instance_id: str, index_id: str | None = None) -> Shelf:
            shelf = super().open(instance_id, index_id)
            for finding in shelf.index.findings:
                file = self.objects.local_copy(finding.evidence.full_key)
                file.write_bytes(file.read_bytes().upper())
            return shelf

    def spoiled(folder: Path, knowledge: Knowledge) -> Library:
        honest = STOCKED[0](folder, knowledge)
        return Spoiled(objects=honest.objects, state=honest.state, clock=honest.clock, knowledge=knowledge)

    done = run_scenario(SCENARIOS["nodeadm"], KNOWLEDGE, library=spoiled)
    numbers = nodes_result([done], (), None).metrics
    assert numbers["analyze"]["citation_accuracy"] == 1.0
    assert numbers["errors"]["citation_accuracy"] == 0.0
    assert "does not re-read" in tool(done, "summarize").lines[0]


def test_a_tool_that_tells_no_findings_has_no_share_of_them() -> None:
    numbers = nodes_result([run()], (), None).metrics
    assert numbers["validate"]["finding_precision"] is None
    assert numbers["validate"]["latency_p50_ms"] is not None
    assert numbers["quick_triage"]["finding_precision"] == 1.0


def test_a_tool_that_tells_half_of_a_line_lowers_the_least_of_all_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """One finding of a line that two rules read is told, the graver one is not: what network_diagnostics once did."""

    def half(answer: MeasuredAnswer) -> MeasuredAnswer:
        meek = tuple(replace(one, severity=Severity.LOW) for one in answer.told)
        return replace(answer, told=meek) if answer.tool == "quick_triage" else answer

    def halved(*given: Any) -> Iterator[MeasuredAnswer]:
        return map(half, library_answers(*given))

    assert least(run()) == 1.0
    monkeypatch.setattr("affidavit.evaluation.nodes.runs.library_answers", halved)
    assert least(run()) < 0.5


def least(done: ScenarioRun) -> float | None:
    nodes = nodes_result([done], (), None)
    result = EvaluationResult(
        version="1.0", evaluated_at=datetime(2026, 1, 15, tzinfo=UTC), knowledge_version="k", seconds=1, nodes=nodes
    )
    return measured(result)["nodes.least_severity_accuracy"]


def test_a_bundle_that_names_no_instance_is_asked_too(tmp_path: Path) -> None:
    placed = place(SCENARIOS["nodeadm"], tmp_path / "made")
    shutil.move(placed.path, tmp_path / "mine.tar.gz")
    mine = Scenario.model_validate(
        {"id": "mine", "family": "x", "tells": "a bundle of my own", "bundle": tmp_path / "mine.tar.gz"}
    )
    done = run_scenario(mine, KNOWLEDGE, library=STOCKED[0])
    assert not done.failure
    assert [tool.tool for tool in done.tools if tool.tool == "quick_triage"]
