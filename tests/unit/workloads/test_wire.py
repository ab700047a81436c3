"""The wire shapes: an outage is never an empty answer, and extra arguments do no harm."""

import pytest
from pydantic import ValidationError

from affidavit.errors import UpstreamFailed
from affidavit.workloads.wire import (
    TOOL_ARG_SCHEMAS,
    TOOL_RESPONSE_SCHEMAS,
    LogEvent,
    LogsResponse,
    failure,
    function_name,
)

TOOLS = {"get_recent_logs", "get_iam_state", "get_lambda_config", "get_network_state", "get_recent_changes"} | {
    "get_baseline_diff"
}
ARN = "arn:aws:lambda:ca-central-1:123456789012:function:data-processor"


def test_every_tool_has_arguments_and_an_answer() -> None:
    assert set(TOOL_ARG_SCHEMAS) == set(TOOL_RESPONSE_SCHEMAS) == TOOLS


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_an_answer_with_neither_error_nor_content_is_invalid(tool: str) -> None:
    with pytest.raises(ValidationError, match="neither `error` nor"):
        TOOL_RESPONSE_SCHEMAS[tool].model_validate({})


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_the_error_variant_is_valid_for_every_tool(tool: str) -> None:
    said = failure(UpstreamFailed("CloudWatch Logs did not answer", hint="ask again"))
    answer = TOOL_RESPONSE_SCHEMAS[tool].model_validate(said | {"success": False, "statusCode": 424})
    assert (answer.error, answer.hint) == ("CloudWatch Logs did not answer", "ask again")


def test_an_error_variant_holds_no_empty_list_that_could_be_read_as_health() -> None:
    assert set(failure(UpstreamFailed("down"))) == {"error"}


def test_logs_without_events_are_valid_only_when_the_list_is_given() -> None:
    assert LogsResponse.model_validate({"log_group": "/aws/lambda/x", "events": []}).events == []
    with pytest.raises(ValidationError, match="events"):
        LogsResponse.model_validate({"log_group": "/aws/lambda/x"})


def test_logs_are_not_complete_unless_somebody_says_so() -> None:
    assert not LogsResponse(log_group="/aws/lambda/x", events=[]).is_complete


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_fields_a_chat_model_adds_are_ignored(tool: str) -> None:
    arguments = TOOL_ARG_SCHEMAS[tool].model_validate({"lambda_name": "data-processor", "region": "moon"})
    assert arguments.model_dump(exclude_defaults=True) == {"lambda_name": "data-processor"}


@pytest.mark.parametrize("name", ["", "a b", "../x", "x" * 65, "data-processor; rm", "arn:aws:s3:::bucket", "é"])
def test_what_cannot_be_a_function_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        TOOL_ARG_SCHEMAS["get_recent_logs"].model_validate({"lambda_name": name})


@pytest.mark.parametrize("name", ["data-processor", ARN, f"{ARN}:$LATEST", f"{ARN}:live", "data-processor:3"])
def test_name_arn_version_and_alias_are_the_same_function(name: str) -> None:
    assert function_name(TOOL_ARG_SCHEMAS["get_recent_logs"].model_validate({"lambda_name": name}).lambda_name) == (
        "data-processor"
    )


def test_milliseconds_become_utc_text() -> None:
    assert LogEvent.model_validate({"timestamp": 1_700_000_000_123, "message": "m"}).timestamp == (
        "2023-11-14T22:13:20.123Z"
    )


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_the_published_schema_asks_for_content_or_error(tool: str) -> None:
    schema = TOOL_RESPONSE_SCHEMAS[tool].model_json_schema()
    assert schema["type"] == "object"
    assert {"required": ["error"]} in schema["anyOf"]
