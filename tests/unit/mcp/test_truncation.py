"""Whether answers that have no word for it say that something is missing from them."""

from datetime import UTC, datetime
from typing import Any

from affidavit.entrypoints.mcp.tools.workload_truncation_info import truncation_of
from affidavit.workloads.wire import LogEvent, LogsResponse

NOW = datetime(2026, 1, 15, tzinfo=UTC).isoformat()


def logs(**fields: Any) -> LogsResponse:
    return LogsResponse(log_group="/aws/lambda/x", **{"is_complete": True, "events": [], **fields})


def test_logs_that_are_not_all_say_so_without_making_up_a_number() -> None:
    event = LogEvent(timestamp=NOW, message="x")
    cut = truncation_of(logs(is_complete=False, events=[event]))
    assert cut["truncated"] is True
    assert cut["truncation_info"]["original_count"] is None and cut["truncation_info"]["returned_count"] == 1


def test_a_message_that_was_shortened_counts_as_cut() -> None:
    event = LogEvent(timestamp=NOW, message="x", omitted_characters=9)
    assert truncation_of(logs(events=[event]))["truncated"] is True
    assert truncation_of(logs(events=[LogEvent(timestamp=NOW, message="x")])) == {"truncated": False}
