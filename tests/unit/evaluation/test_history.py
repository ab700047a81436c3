"""Runs over time: a line each, added and never changed."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from affidavit.errors import EvidenceUnavailable, InputRefused
from affidavit.evaluation.gates import GateResult
from affidavit.evaluation.history import append_run, load_history, past_run
from affidavit.evaluation.incidents.result import IncidentsResult
from affidavit.evaluation.run_result import EvaluationResult

RUN = EvaluationResult(
    version="1.0",
    evaluated_at=datetime(2026, 1, 15, tzinfo=UTC),
    knowledge_version="k",
    seconds=9.0,
    nodes=None,
    incidents=IncidentsResult(provider="offline", k=3, metrics={"exact_set_accuracy": 0.5}, scenarios=()),
    gates=(GateResult(name="incidents.exact_set_accuracy", bound=">= 0.9", value=0.5, holds=False),),
)


def test_every_run_adds_its_line_and_they_come_back_in_order(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    first, second = past_run(RUN), past_run(replace(RUN, gates=(), seconds=8.0))
    append_run(file, first)
    append_run(file, second)
    assert load_history(file) == (first, second)
    assert (first.passes, second.passes, first.numbers) == (False, True, {"incidents.exact_set_accuracy": 0.5})
    assert len(file.read_text().splitlines()) == 2


def test_a_file_that_is_not_there_yet_is_an_empty_history(tmp_path: Path) -> None:
    assert load_history(tmp_path / "history.jsonl") == ()


@pytest.mark.parametrize("line", ["[]", "{", '{"evaluated_at": "yesterday"}', "\x00"])
def test_a_line_that_is_no_run_is_refused_by_its_number(line: str, tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    append_run(file, past_run(RUN))
    file.write_text(f"{file.read_text()}{line}\n")
    with pytest.raises(InputRefused, match="line 2 is no run"):
        load_history(file)


def test_a_history_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(EvidenceUnavailable, match="cannot be written"):
        append_run(tmp_path / "gone" / "history.jsonl", past_run(RUN))
