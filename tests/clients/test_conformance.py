"""Which results of the conformance suite count against us; the suite itself runs in `make clients`."""

from typing import Any

import pytest

from tests.clients.conformance import EXCUSED, judged

PASSED: list[dict[str, Any]] = [{"id": "any", "status": "SUCCESS"}] * EXCUSED["least_passed"]["2026-07-28"]


@pytest.mark.parametrize(
    "check",
    [
        {"id": "ping", "status": "FAILURE", "errorMessage": "Failed: fetch failed"},
        {"id": "tools-list", "status": "FAILURE", "errorMessage": "there is no tool 'quick_triage'"},
        {"id": "sep-2164-data-uri", "status": "WARNING", "errorMessage": "Error data.uri is undefined"},
    ],
)
def test_a_failure_that_no_missing_fixture_explains_is_ours(check: dict[str, Any]) -> None:
    assert len(judged("2026-07-28", [*PASSED, check])) == 1


def test_a_check_that_needs_the_suites_own_tools_or_what_we_do_not_offer_is_excused() -> None:
    fixture = {"id": "x", "status": "FAILURE", "errorMessage": "Failed: there is no tool 'test_simple_text'; there are"}
    logging = {"id": "logging-set-level", "status": "FAILURE", "errorMessage": "Failed: Method not found"}
    assert judged("2026-07-28", [*PASSED, fixture, logging]) == []


def test_a_suite_that_did_not_get_to_ask_is_no_success() -> None:
    assert judged("2026-07-28", PASSED[:-1]) and judged("2026-07-28", [])
