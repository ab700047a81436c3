"""Evidence without a chat model."""

from collections.abc import Mapping
from datetime import timedelta

from tests.support.investigations.incidents import IAM, LOGS, Tools, degraded

from affidavit.errors import UpstreamFailed
from affidavit.incidents.attempt.answer_ledger import Ledger
from affidavit.incidents.attempt.evidence_without_chat_model import gather_context
from affidavit.ports.json import JsonValue


class Unreachable:
    def __init__(self) -> None:
        self.asked: list[str] = []

    def call(self, tool: str, arguments: Mapping[str, JsonValue], *, within: timedelta) -> JsonValue:
        self.asked.append(tool)
        raise UpstreamFailed("the MCP server cannot be reached")


def test_every_tool_is_asked_about_the_incidents_own_function_and_recorded() -> None:
    ledger, tools = Ledger(), Tools()
    gathered = gather_context(degraded(tools), ledger)
    assert (gathered["logs"], gathered["iam"]) == (LOGS, IAM)
    assert gathered["network"] == {"error": "no such function"}, "a question that failed is no empty answer"
    assert [entry.arguments for entry in ledger.entries] == [{"lambda_name": "data-processor"}] * 5


def test_what_is_cut_to_fit_stays_whole_in_the_ledger() -> None:
    ledger = Ledger()
    gathered = gather_context(degraded(Tools()), ledger, token_budget=20)
    assert gathered["logs"] != LOGS
    assert ledger.entries[0].answer == LOGS
    metrics = gathered["metrics"]
    assert isinstance(metrics, Mapping)
    assert metrics["was_truncated"] is True


def test_when_nobody_can_be_asked_one_try_is_enough_and_the_rest_says_so() -> None:
    ledger, tools = Ledger(), Unreachable()
    gathered = gather_context(degraded(tools), ledger)
    assert tools.asked == ["get_recent_logs"]
    assert gathered["logs"] == {"error": "the MCP server cannot be reached"}
    assert gathered["iam"] == {"error": "not asked: the tools cannot be reached"}


def test_without_time_nothing_is_asked_and_it_says_so() -> None:
    tools = Tools()
    gathered = gather_context(degraded(tools), Ledger(), time_left=timedelta)
    assert tools.asked == []
    assert gathered["logs"] == {"error": "not asked: no time was left"}
