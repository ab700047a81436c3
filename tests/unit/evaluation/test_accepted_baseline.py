"""The numbers that were accepted last: shipped, without times, and part by part."""

from dataclasses import replace
from datetime import UTC, datetime

from affidavit.evaluation.accepted_baseline import as_baseline, stored_baseline
from affidavit.evaluation.incidents.result import IncidentsResult
from affidavit.evaluation.run_result import EvaluationResult

RUN = EvaluationResult(
    version="1.0",
    evaluated_at=datetime(2026, 1, 15, tzinfo=UTC),
    knowledge_version="k",
    seconds=9.0,
    nodes=None,
    incidents=IncidentsResult(
        provider="offline", k=3, metrics={"exact_set_accuracy": 0.5, "seconds_p50": 0.2}, scenarios=()
    ),
)


def test_the_shipped_baseline_has_every_part_and_no_times() -> None:
    shipped = stored_baseline()
    assert shipped is not None
    assert shipped.nodes is not None and shipped.incidents is not None and shipped.adversarial is not None
    assert shipped.nodes.metrics["analyze"]["finding_recall"] == 1.0
    assert shipped.nodes.metrics["analyze"]["latency_p50_ms"] is None
    assert shipped.adversarial.metrics["fabricated_stored"] == 0


def test_times_are_left_out_of_a_baseline() -> None:
    kept = as_baseline(RUN, None).incidents
    assert kept is not None
    assert kept.metrics == {"exact_set_accuracy": 0.5, "seconds_p50": None}


def test_a_part_that_did_not_run_stays_as_it_was() -> None:
    before = as_baseline(RUN, None)
    after = as_baseline(replace(RUN, incidents=None), before)
    assert after.incidents == before.incidents
