"""Investigations through the real Bedrock client and a simulator on this machine."""

import asyncio
import json
import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from affidavit.agent.chat.offline import OfflineChat, submission
from affidavit.agent.chat.retries import attempted
from affidavit.agent.limits import Patience
from affidavit.agent.run import ChatDiagnostician
from affidavit.agent.subjects.function import FUNCTION
from affidavit.evidence.diagnosis import NO_TOKENS, FaultType, ProducedBy, TokenUsage
from affidavit.incidents.attempt.answer_ledger import Ledger
from affidavit.incidents.attempt.diagnostician_port import ErrorCategory, LeaseLost, Limits, RunOutcome
from affidavit.ports.json import JsonValue
from affidavit.sandbox.chat_models.bedrock import Refuses, ScriptedText
from affidavit.sandbox.chat_models.honest_model import good
from affidavit.sandbox.chat_models.service_failures import denied, failing, hung, throttled, unforced
from affidavit.verification.pointer_check import verify
from affidavit.workloads.wire import TOOL_ARG_SCHEMAS

from .support import QUICK, CountingTools, Memory, incident, investigate, scenario, toolbox


def test_an_honest_chat_model_ends_with_a_verified_diagnosis(serve, chat) -> None:
    serve(good)
    ledger = Ledger()
    result = investigate(chat(), scenario(), ledger=ledger)
    assert result.outcome is RunOutcome.DIAGNOSED
    assert result.diagnosis is not None
    assert result.diagnosis.fault_types == (FaultType.PERMISSION_LOSS,)
    assert result.diagnosis.produced_by is ProducedBy.CHAT_MODEL
    assert verify(result.diagnosis, ledger.entries).holds


def test_tokens_of_every_call_are_added_to_what_was_spent_before(serve, chat) -> None:
    serve(good)
    result = investigate(chat(), scenario(), spent=TokenUsage(prompt_tokens=50, completion_tokens=5, total_tokens=55))
    assert result.llm_calls == 3
    assert result.token_usage == TokenUsage(prompt_tokens=1250, completion_tokens=185, total_tokens=1435)


def test_the_offline_chat_model_needs_no_network_and_says_that_rules_wrote_it() -> None:
    result = investigate(OfflineChat(), scenario())
    assert result.diagnosis is not None
    assert result.diagnosis.produced_by is ProducedBy.RULES
    assert result.llm_calls == 0


def test_rules_that_prove_nothing_blame_no_chat_model() -> None:
    broken = {tool: json.dumps({"error": "out of order"}) for tool in TOOL_ARG_SCHEMAS}
    result = investigate(OfflineChat(), scenario(), tools=CountingTools(scenario(), broken))
    assert result.diagnosis is None
    assert any("no chat model was asked" in gap for gap in result.gaps)
    assert not any("chat model's diagnosis" in gap for gap in result.gaps)


def test_the_chain_pairs_every_call_with_its_answer(serve, chat) -> None:
    serve(good)
    chain = investigate(chat(), scenario()).reasoning_chain
    assert chain[0]["role"] == "system"
    asked = [call["id"] for link in chain for call in link.get("tool_calls", ())]
    assert asked
    assert asked == [link["tool_call_id"] for link in chain if link["role"] == "tool"]


def test_a_denied_chat_model_is_asked_once_and_leaves_evidence(serve, chat) -> None:
    simulator = serve(denied)
    ledger = Ledger()
    result = investigate(chat(), scenario(), ledger=ledger)
    assert result.outcome is RunOutcome.ERROR
    assert result.error is not None
    assert result.error.category is ErrorCategory.BEDROCK_AUTH
    assert result.diagnosis is None
    assert len(simulator.requests) == 1
    assert {entry.tool for entry in ledger.entries} >= {"get_recent_logs", "get_iam_state"}
    assert result.best_so_far is not None
    assert result.best_so_far.fault_types == (FaultType.PERMISSION_LOSS,)


def test_a_throttled_chat_model_is_asked_twice(serve, chat) -> None:
    simulator = serve(throttled)
    result = investigate(chat(), scenario())
    assert result.error is not None
    assert result.error.category is ErrorCategory.BEDROCK_TRANSIENT
    assert len(simulator.requests) == 2


def test_a_failure_in_the_middle_is_tried_again_there_and_nothing_is_asked_twice(serve, chat) -> None:
    def script(request):
        return Refuses(status=503, code="ServiceUnavailableException") if request.number == 2 else good(request)

    simulator = serve(script)
    tools = CountingTools(scenario())
    result = investigate(chat(), scenario(), tools=tools)
    assert result.outcome is RunOutcome.DIAGNOSED
    assert len(simulator.requests) == 4
    assert len(tools.calls) == len({name for name, _ in tools.calls}) == 5


def test_a_failure_that_the_second_attempt_makes_good_is_told_in_the_log_on_one_line(serve, chat, caplog) -> None:
    caplog.set_level(logging.WARNING, logger="affidavit.agent")  # `eval` in this process may have turned it down
    serve(failing(1, Refuses(status=429, code="ThrottlingException", message="slow\ndown")))
    assert investigate(chat(), scenario()).outcome is RunOutcome.DIAGNOSED
    (told,) = [record.getMessage() for record in caplog.records if record.name == "affidavit.agent.chat.retries"]
    assert told.startswith("incident incident-1: [bedrock_transient] Bedrock refused: ")
    assert told.endswith("slow down; trying again in 0.01 s")


def test_the_pause_before_the_second_attempt_is_two_seconds(serve, chat) -> None:
    serve(failing(1, Refuses(status=429, code="ThrottlingException")))
    started = time.monotonic()
    result = investigate(chat(), scenario(), patience=Patience())
    assert result.outcome is RunOutcome.DIAGNOSED
    assert time.monotonic() - started >= 2.0


def test_a_hung_chat_model_ends_before_the_limit_with_the_evidence_stored(serve, chat) -> None:
    """Every limit is a tenth of the real one, the 99 seconds to the deadline too."""
    serve(hung)
    scaled = Patience(submit_before=9, gather_before=3.5, end_before=2, reply=6, tool=3, backoff_base=0.2)
    ledger = Ledger()
    hanging = chat()
    started = time.time()
    result = investigate(hanging, scenario(), ledger=ledger, seconds=9.9, patience=scaled)
    assert started + 9.9 - time.time() >= 2
    assert {entry.tool for entry in ledger.entries} >= {"get_recent_logs", "get_iam_state", "get_lambda_config"}
    assert result.outcome is RunOutcome.DIAGNOSED
    assert result.diagnosis is not None
    assert result.diagnosis.produced_by is ProducedBy.RULES
    assert any("deadline" in gap for gap in result.diagnosis.gaps)


class HangingTools(CountingTools):
    async def call_tool(self, name: str, arguments: Mapping[str, JsonValue]) -> str:
        await asyncio.sleep(3600)
        return ""


def test_tools_that_hang_until_the_deadline_are_named_as_what_is_not_known() -> None:
    patience = Patience(submit_before=1, gather_before=1, end_before=1, backoff_base=0.01)
    started = time.time()
    result = investigate(OfflineChat(), scenario(), tools=HangingTools(scenario()), seconds=3, patience=patience)
    assert time.time() - started < 30, "nobody waited for the tools"
    assert result.outcome is RunOutcome.DEADLINE
    assert result.diagnosis is None
    assert {f"{tool} was not answered" for tool in FUNCTION.unprompted} <= set(result.gaps)


def test_short_of_time_the_answer_is_demanded_at_once(serve, chat) -> None:
    simulator = serve(good)
    investigate(chat(), scenario(), seconds=80)
    assert simulator.requests[0].forced_tool == "submit_diagnosis"


def test_over_the_token_cap_the_answer_is_demanded_and_the_rules_stand_in(serve, chat) -> None:
    simulator = serve(lambda request: good(request) if request.forced_tool is None else ScriptedText(text="No."))
    result = investigate(chat(), scenario(), max_tokens=900)
    assert [request.forced_tool for request in simulator.requests] == [None, None, "submit_diagnosis"]
    assert result.outcome is RunOutcome.DIAGNOSED
    assert result.diagnosis is not None
    assert result.diagnosis.produced_by is ProducedBy.RULES
    assert any("token cap" in gap for gap in result.diagnosis.gaps)


def test_a_chat_model_that_refuses_to_be_forced_is_asked_in_words(serve, chat) -> None:
    simulator = serve(unforced)
    result = investigate(chat(), scenario(), seconds=80)
    assert [request.forced_tool for request in simulator.requests][:2] == ["submit_diagnosis", None]
    assert result.outcome is not RunOutcome.ERROR


def test_a_chat_model_that_never_submits_stops_within_twelve_steps(serve, chat) -> None:
    simulator = serve(
        lambda request: ScriptedText(text="once more", calls=[("get_recent_logs", {"lambda_name": "data-processor"})])
    )
    result = investigate(chat(), scenario())
    assert result.steps <= 12
    assert simulator.requests[-1].forced_tool == "submit_diagnosis"
    assert result.diagnosis is not None
    assert any("recursion limit exhausted without diagnosis" in gap for gap in result.diagnosis.gaps)


def test_langgraphs_own_limit_is_caught_and_the_rules_stand_in(serve, chat) -> None:
    """One step is a reply; its submission would be the second."""
    serve(good)
    result = investigate(chat(), scenario(), patience=Patience(steps=1, backoff_base=0.01))
    assert result.outcome is RunOutcome.DIAGNOSED
    assert result.diagnosis is not None
    assert result.diagnosis.produced_by is ProducedBy.RULES
    assert "recursion limit exhausted without diagnosis" in result.diagnosis.gaps


def test_a_second_attempt_that_would_come_too_late_is_not_made(serve, chat) -> None:
    """Attempts share one deadline: with less than the pause left before it, the first failure is the last."""
    simulator = serve(throttled)
    patience = Patience()
    started = time.monotonic()
    result = investigate(chat(), scenario(), seconds=patience.gather_before + 1.5, patience=patience)
    assert len(simulator.requests) == 1
    assert time.monotonic() - started < patience.gather_before
    assert result.diagnosis is not None
    assert any("deadline" in gap for gap in result.diagnosis.gaps)


def test_the_token_cap_holds_over_crashes(serve, chat) -> None:
    """Each attempt dies after its first reply is stored; what they cost together is what counts."""
    simulator = serve(good)
    memory, ledger = Memory(), Ledger()

    class Dies(Memory):
        def load(self):
            return memory.load()

        def save(self, state, usage) -> None:
            memory.save(state, usage)
            raise KeyboardInterrupt

    spent = NO_TOKENS
    while spent.total_tokens < 900:
        with pytest.raises(KeyboardInterrupt):
            investigate(chat(), scenario(), ledger=ledger, checkpoint=Dies(), spent=spent, max_tokens=900)
        spent = memory.saved[-1][1]
    before = len(simulator.requests)
    result = investigate(chat(), scenario(), ledger=ledger, checkpoint=memory, spent=spent, max_tokens=900)
    assert [request.forced_tool for request in simulator.requests[before:]] == ["submit_diagnosis"]
    assert result.token_usage.total_tokens == 460 * len(simulator.requests)


def test_nothing_provable_is_a_failure_with_its_reason_and_no_diagnosis(serve, chat) -> None:
    serve(lambda _: ScriptedText(text="hm"))
    broken = {
        name: json.dumps({"error": "AccessDenied"})
        for name in ("get_recent_logs", "get_iam_state", "get_lambda_config", "get_network_state")
    }
    result = investigate(chat(), scenario(), tools=CountingTools(scenario(), broken))
    assert result.outcome is RunOutcome.SILENT
    assert result.diagnosis is None
    assert result.gaps == (
        "get_recent_logs, get_iam_state, get_lambda_config, get_network_state: AccessDenied",
        "the chat model called no tool, also when reminded",
    )


def test_a_function_that_is_not_there_is_told_as_such_and_not_as_a_limit() -> None:
    gone = json.dumps({"error": "function data-processor: there is no such thing"})
    tools = CountingTools(scenario(), dict.fromkeys(TOOL_ARG_SCHEMAS, gone))
    result = investigate(OfflineChat(), scenario(), tools=tools)
    assert result.outcome is RunOutcome.UNVERIFIED
    assert result.diagnosis is None
    assert "function data-processor: there is no such thing" in result.gaps[0]


def test_a_submission_that_does_not_hold_comes_back_with_exactly_what_failed(serve, chat) -> None:
    seen: list[str] = []

    def script(request):
        honest = good(request)
        if honest.calls[0][0] != "submit_diagnosis":
            return honest
        seen.append(str(request.messages[-1]))
        claimed = dict(honest.calls[0][1])
        if len(seen) == 1:
            claimed["evidence"] = [
                {**claimed["evidence"][0], "value": "never written anywhere"},
                *claimed["evidence"][1:],
            ]
        return ScriptedText(calls=[("submit_diagnosis", claimed)])

    serve(script)
    result = investigate(chat(), scenario())
    assert result.outcome is RunOutcome.DIAGNOSED
    assert "evidence[0]:" in seen[1]
    assert "never written anywhere" in seen[1]
    assert "evidence[1]:" not in seen[1]


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), "half a character \ud800"])
def test_a_value_that_no_store_can_keep_is_sent_back_and_ends_nothing(serve, chat, value: JsonValue) -> None:
    seen: list[str] = []

    def script(request):
        honest = good(request)
        if honest.calls[0][0] != "submit_diagnosis":
            return honest
        seen.append(str(request.messages[-1]))
        claimed = dict(honest.calls[0][1])
        if len(seen) == 1:
            claimed["evidence"] = [{**claimed["evidence"][0], "value": value}, *claimed["evidence"][1:]]
        return ScriptedText(calls=[("submit_diagnosis", claimed)])

    serve(script)
    assert investigate(chat(), scenario()).outcome is RunOutcome.DIAGNOSED
    assert "evidence.0.value" in seen[1]


def test_after_two_corrections_a_third_failing_submission_ends_the_run(serve, chat) -> None:
    def script(request):
        return ScriptedText(calls=[("submit_diagnosis", {"root_cause": "x"})])

    simulator = serve(script)
    result = investigate(chat(), scenario())
    assert len(simulator.requests) == 3
    assert result.diagnosis is not None
    assert result.diagnosis.produced_by is ProducedBy.RULES


def test_a_run_goes_on_after_a_crash_where_it_was(serve, chat) -> None:
    simulator = serve(good)
    memory, ledger = Memory(), Ledger()

    class Dies(Memory):
        def save(self, state, usage) -> None:
            memory.save(state, usage)
            if len(memory.saved) == 3:  # the second turn of questions is saved, not yet asked
                raise KeyboardInterrupt

    tools = CountingTools(scenario())
    with pytest.raises(KeyboardInterrupt):
        investigate(chat(), scenario(), tools=tools, ledger=ledger, checkpoint=Dies())
    before = len(simulator.requests)
    result = investigate(chat(), scenario(), tools=tools, ledger=ledger, checkpoint=memory, spent=memory.saved[-1][1])
    assert result.outcome is RunOutcome.DIAGNOSED
    assert (before, len(simulator.requests)) == (2, 3)
    assert sorted(name for name, _ in tools.calls) == sorted({name for name, _ in tools.calls})
    assert result.token_usage.total_tokens == 3 * 460


def test_a_lost_lease_stops_the_run_and_nothing_comes_back(serve, chat) -> None:
    serve(good)

    class Lost(Memory):
        def save(self, state, usage) -> None:
            raise LeaseLost("somebody else has it")

    with pytest.raises(LeaseLost):
        investigate(chat(), scenario(), checkpoint=Lost())


def test_an_unknown_tool_is_an_error_to_the_chat_model_and_reaches_nobody(serve, chat) -> None:
    simulator = serve(
        lambda request: (
            ScriptedText(calls=[("delete_function", {"lambda_name": "data-processor"})])
            if request.number == 1
            else good(request)
        )
    )
    tools = CountingTools(scenario())
    result = investigate(chat(), scenario(), tools=tools)
    assert "unknown tool" in str(simulator.requests[1].messages[-1])
    assert "delete_function" not in [name for name, _ in tools.calls]
    assert result.outcome is RunOutcome.DIAGNOSED


def test_bad_arguments_come_back_and_never_reach_the_tools(serve, chat) -> None:
    simulator = serve(
        lambda request: ScriptedText(calls=[("get_iam_state", {"name": 3})]) if request.number == 1 else good(request)
    )
    tools = CountingTools(scenario())
    investigate(chat(), scenario(), tools=tools)
    assert "lambda_name" in str(simulator.requests[1].messages[-1])
    assert all(arguments == {"lambda_name": "data-processor"} for _, arguments in tools.calls)


def test_another_function_than_the_incidents_is_refused(serve, chat) -> None:
    simulator = serve(
        lambda request: (
            ScriptedText(calls=[("get_iam_state", {"lambda_name": "billing-export"})])
            if request.number == 1
            else good(request)
        )
    )
    tools = CountingTools(scenario())
    investigate(chat(), scenario(), tools=tools)
    assert "not part of this incident" in str(simulator.requests[1].messages[-1])
    assert {str(arguments["lambda_name"]) for _, arguments in tools.calls} == {"data-processor"}


IAM = '{"role_name": "r", "attached_policies": [], "inline_policies": {"p": {"Statement": %s}}}'


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "no json",
        "[]",
        '{"role_name": 3}',
        '{"something": "else"}',
        IAM % "NaN",
        IAM % f"{'[' * 200}1e999{']' * 200}",
        IAM % f"{'[' * 3000}{']' * 3000}",
    ],
)
def test_an_answer_of_the_wrong_shape_is_thrown_away_and_said_so(serve, chat, answer: str) -> None:
    simulator = serve(good)
    ledger = Ledger()
    tools = CountingTools(scenario(), {"get_iam_state": answer})
    assert investigate(chat(), scenario(), tools=tools, ledger=ledger).error is None
    recorded = [entry.answer for entry in ledger.entries if entry.tool == "get_iam_state"]
    assert recorded in ([], [{"error": "Tool returned empty response"}])
    assert "error" in str(simulator.requests[-1].messages)


def test_a_reply_that_is_empty_does_not_break_the_conversation(serve, chat) -> None:
    serve(lambda request: ScriptedText(text="  ") if request.number == 1 else good(request))
    assert investigate(chat(), scenario()).outcome is RunOutcome.DIAGNOSED


def test_tools_and_submission_in_one_turn_are_all_answered(serve, chat) -> None:
    simulator = serve(
        lambda request: (
            ScriptedText(calls=[("submit_diagnosis", {}), ("get_recent_logs", {"lambda_name": "data-processor"})])
            if request.number == 1
            else good(request)
        )
    )
    result = investigate(chat(), scenario(), patience=QUICK)
    assert len([block for block in simulator.requests[1].messages[-1]["content"] if "toolResult" in block]) == 2
    assert result.outcome is RunOutcome.DIAGNOSED


def test_answers_of_a_function_of_the_same_name_in_another_account_are_not_concluded_from() -> None:
    of = scenario()
    elsewhere = replace(incident(of), account="999999999999")
    diagnostician = ChatDiagnostician(chat=OfflineChat(), toolbox=toolbox(of), patience=QUICK)
    limits = Limits(deadline=datetime.now(UTC) + timedelta(minutes=10), max_tokens=100_000)
    result = diagnostician.investigate(elsewhere, ledger=Ledger(), limits=limits, spent=NO_TOKENS, checkpoint=Memory())
    assert (result.outcome, result.diagnosis, result.best_so_far) == (RunOutcome.FOREIGN, None, None)
    assert "in account 999999999999" in result.gaps[0]
    assert "is in account 123456789012" in result.gaps[0]


def test_a_turn_with_too_many_calls_has_the_first_eight_made(serve, chat) -> None:
    many = [("get_recent_logs", {"lambda_name": "data-processor"})] * 9
    turns = iter([ScriptedText(text="all at once", calls=tuple(many))])
    serve(lambda request: next(turns, None) or good(request))
    tools = CountingTools(scenario())
    result = investigate(chat(), scenario(), tools=tools)
    first = [link for link in result.reasoning_chain if link["role"] == "tool"][:9]
    refused = [link for link in first if "only 8 calls are made at once" in str(link["content"])]
    assert [first.index(link) for link in refused] == [8]
    assert len(tools.calls) >= 8


def test_a_diagnosis_handed_in_beside_questions_is_not_considered_before_their_answers_are_read(serve, chat) -> None:
    both = (("get_recent_logs", {"lambda_name": "data-processor"}), ("submit_diagnosis", submission(None)))
    turns = iter([ScriptedText(text="at once", calls=both)])
    serve(lambda request: next(turns, None) or good(request))
    result = investigate(chat(), scenario())
    said = [str(link["content"]) for link in result.reasoning_chain if link["role"] == "tool"]
    assert "called together with tools whose answers you had not read" in said[1]
    assert result.outcome is RunOutcome.DIAGNOSED


def test_a_tool_that_failed_is_asked_again_by_the_next_attempt() -> None:
    of, ledger, memory = scenario(), Ledger(), Memory()
    down = CountingTools(of, {"get_iam_state": json.dumps({"error": "throttled"})})
    first = investigate(OfflineChat(), of, tools=down, ledger=ledger, checkpoint=memory)
    # The attempt ends before its conclusion is stored: its last turn, the submission, is not saved.
    memory.saved = [one for one in memory.saved if '"name": "submit_diagnosis"' not in json.dumps(one[0])]
    up = CountingTools(of)
    again = investigate(OfflineChat(), of, tools=up, ledger=ledger, checkpoint=memory)
    assert [name for name, _ in up.calls] == ["get_iam_state"]
    assert any("get_iam_state" in gap for gap in first.diagnosis.gaps)
    assert not any("throttled" in gap for gap in again.diagnosis.gaps)


def test_what_failed_before_is_gathered_again_when_the_chat_model_fails(serve, chat) -> None:
    serve(denied)
    of, ledger = scenario(), Ledger()
    arguments = {"lambda_name": of.function}
    ledger.record("get_iam_state", arguments, {"error": "throttled"})
    ledger.record("get_recent_logs", arguments, of.workloads().answer("get_recent_logs", arguments))
    tools = CountingTools(of)
    investigate(chat(), of, tools=tools, ledger=ledger)
    asked = {name for name, _ in tools.calls}
    assert asked == {"get_iam_state", "get_lambda_config", "get_network_state", "get_recent_changes"}


@pytest.mark.parametrize(("attempts", "pauses"), [(2, [2.0]), (4, [2.0, 4.0, 8.0])])
def test_each_pause_before_another_try_is_twice_the_one_before(attempts: int, pauses: list[float]) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async def fails() -> None:
        raise ConnectionError("refused")

    tried = attempted(
        fails,
        incident_id="i",
        timed={"deadline": time.time() + 600},
        patience=Patience(attempts=attempts),
        until_before=20,
        sleep=sleep,
    )
    with pytest.raises(ConnectionError):
        asyncio.run(tried)
    assert slept == pauses
