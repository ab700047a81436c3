"""Fitting what was gathered into a token budget."""

from datetime import UTC, datetime
from typing import Any

import pytest

from affidavit.agent.subjects.function import FUNCTION
from affidavit.agent.subjects.function_answer_trimming import drop_lambda_config, drop_oldest_logs, trim_iam_to_sids
from affidavit.incidents.attempt.answers_cut_to_budget import _compute_metrics, estimate_tokens, truncate_to_budget

POLICIES = {
    "read": {"Statement": [{"Sid": "ReadInput", "Action": "s3:GetObject"}, {"Action": "s3:ListBucket"}]},
    "one": {"Statement": {"Sid": "Alone", "Action": "kms:Decrypt"}},
}


def a_context(events: int = 100) -> dict[str, Any]:
    return {
        "logs": {
            "events": [{"message": f"event {number} {'x' * 40}"} for number in range(events)],
            "is_complete": True,
        },
        "iam": {"role_name": "role", "inline_policies": POLICIES, "attached_policies": []},
        "lambda_config": {"FunctionName": "f", "Handler": "h" * 200},
    }


def test_tokens_are_a_quarter_of_the_json() -> None:
    assert estimate_tokens({}) == 0
    assert estimate_tokens({"a": "x" * 100}) == len('{"a": ""}' + "x" * 100) // 4


def test_a_date_counts_as_text() -> None:
    assert estimate_tokens({"at": datetime(2026, 1, 15, tzinfo=UTC)}) == len('{"at": "2026-01-15 00:00:00+00:00"}') // 4


@pytest.mark.parametrize("shrink", [drop_oldest_logs, trim_iam_to_sids, drop_lambda_config])
@pytest.mark.parametrize("context", [{}, {"logs": None, "iam": "?", "lambda_config": ["?"], "more": "x" * 400}])
def test_nothing_is_done_to_a_part_that_is_missing_or_no_object(shrink: Any, context: dict[str, Any]) -> None:
    assert shrink(context, 1) == (context, None)


@pytest.mark.parametrize("shrink", [drop_oldest_logs, trim_iam_to_sids, drop_lambda_config])
def test_nothing_is_done_under_budget(shrink: Any) -> None:
    context = a_context()
    assert shrink(context, estimate_tokens(context)) == (context, None)


def test_the_oldest_logs_go_first_and_as_few_as_needed() -> None:
    context = a_context()
    shorter, done = drop_oldest_logs(context, 1_000)
    events = shorter["logs"]["events"]
    assert events == context["logs"]["events"][: len(events)], "newest come first, so the end goes"
    assert 0 < len(events) < 100
    assert done == f"dropped the {100 - len(events)} oldest of 100 log events"
    assert shorter["logs"]["is_complete"] is False, "what is left must not be taken for everything"
    assert estimate_tokens(shorter) <= 1_000 < estimate_tokens(_with_one_more(context, len(events)))
    assert len(context["logs"]["events"]) == 100, "the original stays"


def _with_one_more(context: dict[str, Any], count: int) -> dict[str, Any]:
    logs = {**context["logs"], "events": context["logs"]["events"][: count + 1], "is_complete": False}
    return {**context, "logs": {**logs, "dropped_events": 99 - count}}


def test_policy_documents_become_statement_ids() -> None:
    shorter, done = trim_iam_to_sids(a_context(), 1)
    assert shorter["iam"]["inline_policies"] == {
        "read": {"StatementSids": ["ReadInput", "unnamed"]},
        "one": {"StatementSids": ["Alone"]},
    }
    assert done == "reduced 2 policy documents to their statement ids"


def test_the_configuration_says_that_it_was_dropped() -> None:
    shorter, done = drop_lambda_config(a_context(), 1)
    assert (shorter["lambda_config"], done) == ({"dropped": True}, "dropped the configuration")


def test_parts_are_cut_in_order_and_only_until_it_fits() -> None:
    fitted = truncate_to_budget(a_context(), 300, FUNCTION.shrinks)
    assert [detail.split()[0] for detail in fitted.details] == ["dropped"]
    everything = truncate_to_budget(a_context(), 10, FUNCTION.shrinks)
    assert [detail.split()[0] for detail in everything.details] == ["dropped", "reduced", "dropped"]
    assert everything.metrics["is_within_budget"] is False, "it says when it could not do better"


@pytest.mark.parametrize("budget", [0, -5])
def test_without_a_budget_nothing_is_cut(budget: int) -> None:
    fitted = truncate_to_budget(a_context(), budget, FUNCTION.shrinks)
    assert (fitted.context, fitted.details) == (a_context(), ())


def test_metrics_say_what_there_was_and_what_is_left() -> None:
    assert _compute_metrics({"logs": 90, "iam": 30}, 100, 95, ["dropped 3"]) == {
        "raw_sizes": {"logs": 90, "iam": 30},
        "raw_tokens": 120,
        "token_budget": 100,
        "final_tokens": 95,
        "was_truncated": True,
        "is_within_budget": True,
        "details": ["dropped 3"],
    }


def test_a_policy_without_statements_is_left_untouched() -> None:
    odd = {"Version": "2012-10-17", "Id": "x" * 200}
    context = {"iam": {"inline_policies": {"odd": odd, "read": POLICIES["read"]}}}
    shorter, done = trim_iam_to_sids(context, 1)
    assert shorter["iam"]["inline_policies"] == {"odd": odd, "read": {"StatementSids": ["ReadInput", "unnamed"]}}
    assert done == "reduced 1 policy documents to their statement ids"
    only_odd = {"iam": {"inline_policies": {"odd": odd}}}
    assert trim_iam_to_sids(only_odd, 1) == (only_odd, None)
