"""What a concise answer costs beside a detailed one, whole answers, on the bundle of every scenario."""

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.support.libraries import a_library, take_in

from affidavit.entrypoints.mcp.calls import Calls
from affidavit.entrypoints.mcp.catalog import NODES
from affidavit.entrypoints.mcp.services import Services, Shelves
from affidavit.evaluation.generator import generate, write
from affidavit.evaluation.scenario import Scenario, load_scenarios
from affidavit.knowledge import load_knowledge
from affidavit.ports import SystemClock
from affidavit.redaction.redact import Redactor

NODE = "i-0c0ffee000000cafe"
LISTS = {"errors": "findings", "search": "results", "correlate": "timeline"}
FIELDS = {"finding_id", "severity", "pattern", "count"}
MOST = 0.30
# Seven events in three clusters: times and ids of the clusters are most of what is left.
KNOWN_ABOVE = {("bottlerocket-setup", "correlate"): 0.36}


@cache
def knowledge() -> Any:
    return load_knowledge()


def tokens(answer: Any) -> int:
    """Words, and each other sign: near what chat models count, and the same for both sides."""
    return len(re.findall(r"\w+|[^\w\s]", json.dumps(answer)))


@pytest.fixture(params=load_scenarios(), ids=lambda scenario: scenario.id)
def asked(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Scenario, Calls]:
    scenario: Scenario = request.param
    library = a_library(tmp_path, knowledge=knowledge())
    made = write(generate(replace(scenario.spec(), instance_id=NODE, noise_lines=20)), tmp_path / "made", scenario.form)
    take_in(library, made.rename(made.parent / f"{NODE}_{made.name}"))
    services = Services(state=library.state, clock=SystemClock(), shelves=lambda: Shelves(library=library))
    calls = Calls(services=services, redactor=Redactor(), tools={tool.name: tool for tool in NODES})
    return scenario, calls


def test_a_concise_answer_saves_seven_tenths_and_loses_no_field(asked: tuple[Scenario, Calls]) -> None:
    scenario, calls = asked
    for tool, listed in LISTS.items():
        arguments = {"instanceId": NODE} | ({"query": "(?i)error|fail|kill|warn"} if tool == "search" else {})
        detailed, concise = (
            calls.call(calls.tools[tool], {**arguments, "response_format": form}).content
            for form in ("detailed", "concise")
        )
        assert set(detailed) - set(concise) == set()
        assert set(concise["coverage_report"]) == set(detailed["coverage_report"])
        assert concise["coverage_report"]["skipped_total"] == detailed["coverage_report"]["skipped_total"]
        assert len(concise[listed]) == len(detailed[listed])
        assert all(set(finding) == FIELDS for finding in concise[listed])
        for short in concise.get("clusters", ()):
            (whole,) = (each for each in detailed["clusters"] if each["cluster_id"] == short["cluster_id"])
            assert short["start_time"][:19] == whole["start_time"][:19]
            assert short["end_time"] >= whole["end_time"].replace("Z", "") and "." not in short["end_time"]
        if len(concise[listed]) >= 3:
            share = tokens(concise) / tokens(detailed)
            assert share <= KNOWN_ABOVE.get((scenario.id, tool), MOST), (tool, len(concise[listed]), share)
