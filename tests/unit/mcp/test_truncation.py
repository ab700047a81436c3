"""Whether answers that have no word for it say that something is missing from them."""

from datetime import UTC, datetime
from typing import Any

from affidavit.collection.answers import BatchAnswer, BatchCounts, HistoryAnswer, PassedOver
from affidavit.collection.requests import Strategy
from affidavit.collection.tasks import TaskState, a_task
from affidavit.entrypoints.mcp.truncation import truncation_of
from affidavit.workloads.records import LogEvent, LogsResponse

NOW = datetime(2026, 1, 15, tzinfo=UTC).isoformat()


def logs(**fields: Any) -> LogsResponse:
    return LogsResponse(log_group="/aws/lambda/x", **{"is_complete": True, "events": [], **fields})


def batch(*, passed_over: int, listed: int) -> BatchAnswer:
    return BatchAnswer(
        task=a_task("b", TaskState.WORKING, "x"),
        batch_id="b",
        cluster_name="c",
        region="ca-central-1",
        strategy=Strategy.ALL,
        idempotency_key="k",
        nodes=[],
        counts=BatchCounts(total=0, working=0, completed=0, failed=0, cancelled=0, unknown=0),
        nodes_found=passed_over,
        left_out=0,
        passed_over=[PassedOver(instance_id=f"i-{n:08x}", reason="stopped") for n in range(listed)],
        passed_over_total=passed_over,
        idempotent=False,
    )


def test_logs_that_are_not_all_say_so_without_making_up_a_number() -> None:
    event = LogEvent(timestamp=NOW, message="x")
    cut = truncation_of(logs(is_complete=False, events=[event]))
    assert cut["truncated"] is True
    assert cut["truncation_info"]["original_count"] is None and cut["truncation_info"]["returned_count"] == 1


def test_a_message_that_was_shortened_counts_as_cut() -> None:
    event = LogEvent(timestamp=NOW, message="x", omitted_characters=9)
    assert truncation_of(logs(events=[event]))["truncated"] is True
    assert truncation_of(logs(events=[LogEvent(timestamp=NOW, message="x")])) == {"truncated": False}


def test_a_batch_that_lists_only_some_of_what_it_passed_over_says_how_many_there_are() -> None:
    info = truncation_of(batch(passed_over=130, listed=100))["truncation_info"]
    assert (info["original_count"], info["returned_count"]) == (130, 100)
    assert truncation_of(batch(passed_over=3, listed=3)) == {"truncated": False}


def test_a_history_beyond_its_limit_says_so() -> None:
    assert "truncation_info" in truncation_of(HistoryAnswer(collections=[], retention_hours=48, truncated=True))
    assert truncation_of(HistoryAnswer(collections=[], retention_hours=48, truncated=False)) == {"truncated": False}
