"""Answers about Lambda functions keep to `max_bytes` too, and say what they left out."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.support.peers.mcp_server import calls_over

from affidavit.entrypoints.mcp.calls import Calls
from affidavit.entrypoints.mcp.tools.catalog import LAMBDA
from affidavit.entrypoints.mcp.tools.schemas import output_schema
from affidavit.entrypoints.mcp.tools.tool import Tool
from affidavit.entrypoints.mcp.tools.workload_answer_size import LEFT_OUT, shortened
from affidavit.evaluation.incidents.workload_scenarios import load_workload_scenarios, patched
from affidavit.wire.byte_budget import LEAST_BYTES, MAX_BYTES
from affidavit.workloads.logs import ONLY_NEWEST
from affidavit.workloads.wire import (
    ChangesResponse,
    IAMStateResponse,
    LogEvent,
    LogsResponse,
    NetworkStateResponse,
    RecordedChange,
    SubnetState,
    Window,
)

FUNCTION = {"lambda_name": "data-processor"}
BY_NAME = {tool.name: tool for tool in LAMBDA}
LONG = {
    "Version": "2012-10-17",
    "Statement": [{"Sid": f"S{n}", "Effect": "Allow", "Action": "s3:*"} for n in range(90)],
}


@pytest.fixture
def calls(tmp_path: Path) -> Calls:
    """About a function with much of everything: log lines with secrets in them, and long policies."""
    scenario = next(each for each in load_workload_scenarios() if each.scenario_id == "healthy-single-datapoint")
    line = "[INFO]\t{time}\t{id}\tpassword=hunter2 rows " + "x" * 150
    account = {
        "logs": [{"ago": "30s", "times": 90, "run": {"duration": 188.0, "lines": [line] * 2}}],
        "inline_policies": {f"policy-{n}": LONG for n in range(9)},
    }
    state = scenario.account.model_validate(patched(scenario.account.model_dump(mode="json"), account))
    calls = calls_over(tmp_path, tools=LAMBDA)
    return replace(calls, services=replace(calls.services, workloads=replace(scenario, account=state).workloads()))


def asked(calls: Calls, tool: str, **arguments: object) -> dict[str, Any]:
    outcome = calls.call(BY_NAME[tool], {**FUNCTION, **arguments})
    assert not outcome.is_error, outcome.content
    jsonschema.validate(outcome.content, output_schema(BY_NAME[tool], has_debug=False))
    return outcome.content


def size(answer: dict[str, Any]) -> int:
    return len(json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode())


@pytest.mark.parametrize("tool", ["get_recent_logs", "get_iam_state"])
def test_a_long_answer_keeps_to_the_budget_and_names_the_call_that_returns_more(calls: Calls, tool: str) -> None:
    answer = asked(calls, tool)
    assert MAX_BYTES // 2 < size(answer) <= MAX_BYTES and answer["truncated"]
    call = answer["truncation_info"]["next_call"]
    assert call["tool"] == tool
    more = asked(calls, **{"tool": tool, **call["arguments"]})
    assert size(answer) < size(more) <= call["arguments"]["max_bytes"]


@pytest.mark.parametrize("tool", LAMBDA, ids=lambda tool: tool.name)
def test_every_question_takes_a_budget(calls: Calls, tool: Tool) -> None:
    answer = asked(calls, tool.name, max_bytes=4 << 10)
    assert size(answer) <= 4 << 10
    refused = calls.call(tool, {**FUNCTION, "max_bytes": LEAST_BYTES - 1})
    assert refused.content["statusCode"] == 400
    assert not calls.call(tool, {**FUNCTION, "max_bytes": None}).is_error


def logs(times: list[str], *, is_complete: bool = True) -> LogsResponse:
    events = [LogEvent(timestamp=time, message="x" * 400) for time in times]
    window = {"start": "2026-01-15T09:00:00.000Z", "end": "2026-01-15T10:00:00.000Z"}
    return LogsResponse.model_validate(
        {"log_group": "/aws/lambda/x", "events": events, "window": window, "is_complete": is_complete}
    )


def test_the_newest_events_stay_and_the_window_shrinks_to_what_they_cover() -> None:
    short = shortened(logs([f"2026-01-15T09:{59 - n:02d}:00.000Z" for n in range(40)]), 4 << 10).answer
    assert isinstance(short, LogsResponse) and short.window is not None
    assert short.events[0].timestamp == "2026-01-15T09:59:00.000Z" and not short.is_complete
    assert short.window.start == short.events[-1].timestamp and short.not_read[0].why == ONLY_NEWEST


def test_a_millisecond_whose_events_are_not_all_shown_is_not_covered() -> None:
    short = shortened(logs(["2026-01-15T09:59:00.000Z"] * 40), 4 << 10).answer
    assert isinstance(short, LogsResponse) and short.window is not None and short.events
    assert short.window.start == "2026-01-15T09:59:00.001Z"


def test_the_newest_changes_stay_and_the_rest_is_not_called_covered() -> None:
    window = Window(start="2026-01-14T10:00:00.000Z", end="2026-01-15T10:00:00.000Z")
    changes = [
        RecordedChange(
            event_id=str(n),
            time=f"2026-01-15T09:{59 - n:02d}:00.000Z",
            event_name="PutRolePolicy",
            event_source="iam.amazonaws.com",
            principal="arn:aws:iam::123456789012:user/somebody",
            resource="role",
            request={"policyDocument": "x" * 300},
        )
        for n in range(30)
    ]
    answer = ChangesResponse(lambda_name="x", changes=changes, window=window, is_complete=True)
    short = shortened(answer, 4 << 10).answer
    assert isinstance(short, ChangesResponse) and short.window is not None and not short.is_complete
    assert 0 < len(short.changes) < 30 and short.changes[0] == changes[0]
    assert (short.window.start, short.window.end) == (short.changes[-1].time, window.end)


def test_the_largest_parts_go_first_and_are_named() -> None:
    small = {"Version": "2012-10-17", "Statement": []}
    answer = IAMStateResponse(
        role_name="r", inline_policies={"large": LONG, "small": small}, attached_policies=["arn:aws:iam::aws:policy/x"]
    )
    short = shortened(answer, 3 << 10)
    assert isinstance(short.answer, IAMStateResponse) and (short.parts, short.left_out) == (3, 1)
    assert list(short.answer.inline_policies) == ["small"] and short.answer.attached_policies
    assert [(each.what, each.why) for each in short.answer.not_read] == [
        ("1 of 2 entries of inline_policies: large", LEFT_OUT)
    ]


def test_parts_of_a_list_are_counted_and_those_that_stay_keep_their_order() -> None:
    subnets = [SubnetState(subnet_id=f"subnet-{n}", zone="x" * (1000 if n % 2 else 10)) for n in range(8)]
    answer = NetworkStateResponse(lambda_name="x", in_vpc=True, subnets=subnets)
    short = shortened(answer, 3 << 10).answer
    assert isinstance(short, NetworkStateResponse)
    assert [each.subnet_id for each in short.subnets][:2] == ["subnet-0", "subnet-2"]
    assert short.not_read[0].what.endswith(" of 8 entries of subnets")
