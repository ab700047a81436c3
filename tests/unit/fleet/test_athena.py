"""Athena is asked the same SQL as DuckDB, and gives the same answer. The client and the protocol are real."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from tests.support.peers.athena import PAGE, Athena, serving

from affidavit.adapters.aws.athena import MOST_SECONDS, POLL_SECONDS, AthenaFleet
from affidavit.adapters.aws.clients import ATTEMPTS, AwsClients
from affidavit.errors import InputRefused, NotFound, Throttled, UpstreamFailed
from affidavit.fleet.local_query import ask_folder
from affidavit.fleet.questions import QUESTIONS, question
from affidavit.fleet.sql_with_values import FleetScope, Inquiry

PROD = FleetScope(clusters=("prod",))


@pytest.fixture
def athena(thousand: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Athena]:
    running = Athena(folder=thousand)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    with serving(running) as url:
        told = {"AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
        for name, value in told.items():
            monkeypatch.setenv(name, value)
        yield running


@pytest.fixture
def fleet(athena: Athena) -> AthenaFleet:
    return AthenaFleet(AwsClients("ca-central-1"), workgroup="people", database="affidavit", pause=lambda _: None)


@pytest.mark.parametrize("each", QUESTIONS, ids=lambda each: each.name)
def test_every_named_question_has_the_same_answer_as_on_this_machine(
    each, athena: Athena, fleet: AthenaFleet, thousand: Path
) -> None:
    asked = each.asked(FleetScope(clusters=("prod", "test"), since=date(2026, 1, 15)))
    here, there = ask_folder(thousand, asked), fleet.ask(asked)
    assert (there.columns, there.indexes) == (here.columns, 1000)
    assert [tuple(row) for row in there.rows] == here.rows
    counting, question_itself = athena.asked
    assert question_itself["QueryString"] == asked.sql
    assert question_itself["WorkGroup"] == "people"
    assert question_itself["QueryExecutionContext"] == {"Database": "affidavit"}
    assert counting["QueryString"].startswith("SELECT count(*)")


def test_values_travel_beside_the_sql_and_no_quote_ends_them(athena: Athena, fleet: AthenaFleet) -> None:
    hostile = "x') OR 1 = 1 --"
    with pytest.raises(NotFound, match="no index"):
        fleet.ask(QUESTIONS[0].asked(FleetScope(clusters=(hostile,))))
    assert hostile not in athena.asked[0]["QueryString"]
    assert athena.asked[0]["ExecutionParameters"] == ["'x'') OR 1 = 1 --'"]


def test_a_long_answer_comes_whole(athena: Athena, fleet: AthenaFleet) -> None:
    answer = fleet.ask(Inquiry(sql="SELECT instance_id FROM nodes WHERE cluster = 'prod' ORDER BY instance_id"))
    assert len({row[0] for row in answer.rows}) == len(answer.rows) == 750
    assert athena.calls.count("GetQueryResults") == 751 // PAGE + 1
    assert answer.indexes is None, "whose indexes SQL of one's own asks is not known"


def test_without_a_cluster_athena_is_not_asked_at_all(athena: Athena, fleet: AthenaFleet) -> None:
    with pytest.raises(InputRefused) as refused:
        fleet.ask(QUESTIONS[0].asked())
    assert "--cluster" in refused.value.hint
    assert athena.calls == []


def test_what_is_no_question_never_reaches_athena(athena: Athena, fleet: AthenaFleet) -> None:
    with pytest.raises(InputRefused):
        fleet.ask(Inquiry(sql="DROP TABLE nodes"))
    assert athena.calls == []


def test_a_question_that_athena_refuses_is_the_callers_to_correct(athena: Athena, fleet: AthenaFleet) -> None:
    athena.states, athena.reason = ["RUNNING", "FAILED"], "CONSTRAINT_VIOLATION: for the injected column cluster"
    athena.error = {"ErrorCategory": 2, "ErrorType": 1006, "Retryable": False}
    with pytest.raises(InputRefused, match="injected column cluster") as refused:
        fleet.ask(Inquiry(sql="SELECT count(*) FROM nodes"))
    assert "clusters" in refused.value.hint


@pytest.mark.parametrize("state", ["FAILED", "CANCELLED"])
def test_a_failure_of_athenas_own_says_whether_to_ask_again(state: str, athena: Athena, fleet: AthenaFleet) -> None:
    athena.states, athena.reason = [state], "resources exhausted"
    athena.error = {"ErrorCategory": 1, "ErrorType": 0, "Retryable": True}
    with pytest.raises(UpstreamFailed, match="resources exhausted") as failed:
        fleet.ask(QUESTIONS[0].asked(PROD))
    assert failed.value.is_retryable


def test_being_slowed_down_while_waiting_loses_no_answer(athena: Athena, fleet: AthenaFleet) -> None:
    athena.throttled = {"GetQueryExecution": ATTEMPTS + 1}
    common = question("common-faults")
    assert common is not None
    assert fleet.ask(common.asked(PROD)).rows


def test_a_question_that_may_not_be_asked_now_is_said_to_be_throttled(athena: Athena, fleet: AthenaFleet) -> None:
    athena.throttled = {"StartQueryExecution": 100}
    with pytest.raises(Throttled):
        fleet.ask(QUESTIONS[0].asked(PROD))
    assert athena.calls.count("StartQueryExecution") == ATTEMPTS


def test_a_question_without_an_end_is_stopped(
    athena: Athena, fleet: AthenaFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("affidavit.adapters.aws.athena.MOST_SECONDS", POLL_SECONDS * 5)
    athena.states = ["RUNNING"]
    with pytest.raises(UpstreamFailed, match="stopped"):
        fleet.ask(QUESTIONS[0].asked(PROD))
    assert athena.calls.count("GetQueryExecution") == 5
    assert athena.calls[-1] == "StopQueryExecution"
    assert MOST_SECONDS == 300
