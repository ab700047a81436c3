"""The graph: reason, ask, submit. It ends with a diagnosis that holds, or says why there is none.

START → agent_reason → execute_tools → agent_reason … → submit → END. A reloaded run whose last turn asked for tools
goes on there. LangGraph's own limit is a safety net: the answer is asked for while steps remain.
"""
# LangGraph ships no complete types for its builder.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false

import asyncio
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypedDict, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.managed import RemainingSteps

from affidavit.agent.acceptance.submission import judge
from affidavit.agent.chat.model_turns import check_pairing, ending_kept, pending_calls
from affidavit.agent.chat.next_reply import Replies
from affidavit.agent.chat.providers.provider import Provider
from affidavit.agent.chat.retries import attempted
from affidavit.agent.chat.stop_reasons import ReplyEnding
from affidavit.agent.limits import Patience
from affidavit.agent.prompt_messages import CALL_CUT, CALL_UNREADABLE, NO_TOOL_CALLED, SUBMIT_NOW, sent_back
from affidavit.agent.subjects.investigable import Investigable, Scope
from affidavit.agent.time_and_tokens import check_deadline, seconds_left, usage_of
from affidavit.agent.tool_specifications import SUBMIT, create_tools
from affidavit.agent.toolbox.checked_calls import ToolQuestion, ask, failed, screened
from affidavit.agent.toolbox.tool_providers import ToolProvider
from affidavit.evidence.citation_check import ByteSource
from affidavit.evidence.diagnosis import Diagnosis, ProducedBy, TokenUsage
from affidavit.incidents.attempt.answer_ledger import Ledger
from affidavit.incidents.attempt.diagnostician_port import RunOutcome
from affidavit.verification.names_from_incident import About

REASON, EXECUTE, FINISH = "agent_reason", "execute_tools", "submit"
# A reply, its submission, and once more after a correction.
STEPS_TO_FINISH = 4


def add_usage(spent: TokenUsage, more: TokenUsage) -> TokenUsage:
    return spent.plus(more)


class AgentState(TypedDict):
    messages: Annotated[list[BaseMessage], add_messages]
    incident: Mapping[str, object]
    incident_id: str
    diagnosis: Diagnosis | None
    deadline: float
    token_usage: Annotated[TokenUsage, add_usage]
    llm_calls: Annotated[int, operator.add]
    rejections: Annotated[int, operator.add]
    ending: RunOutcome | None
    """Why the answer was asked for, or why the run is over."""
    remaining_steps: RemainingSteps


Graph = CompiledStateGraph[AgentState, Any, Any, Any]


@dataclass(frozen=True, kw_only=True)
class Work:
    """What one investigation works with; nothing of it is part of the saved state."""

    chat: BaseChatModel
    provider: ToolProvider
    model: Provider
    """Whose chat model it is."""
    ledger: Ledger
    of: Investigable
    scope: Scope
    """What of this kind may be asked about."""
    max_tokens: int
    about: About = field(default_factory=About)
    """What the incident itself names. Its alert was written by anybody, like log text."""
    source: ByteSource | None = None
    author: ProducedBy = ProducedBy.CHAT_MODEL
    patience: Patience = field(default_factory=Patience)


def build_graph(work: Work) -> Graph:
    """Pass `recursion_limit` on every invoke: a compiled graph carries none."""
    steps = _Steps(work, Replies(work.chat, work.patience, create_tools(work.of), work.model))
    graph = StateGraph(AgentState)
    graph.add_node(REASON, steps.agent_reason)
    graph.add_node(EXECUTE, steps.execute_tools)
    graph.add_node(FINISH, steps.submit)
    graph.add_conditional_edges(START, steps.after_start, [REASON, EXECUTE, FINISH])
    graph.add_conditional_edges(REASON, steps.after_reason, [REASON, EXECUTE, FINISH, END])
    graph.add_edge(EXECUTE, REASON)
    graph.add_conditional_edges(FINISH, steps.after_submit, [REASON, END])
    return cast("Graph", graph.compile())


class _Steps:
    def __init__(self, work: Work, replies: Replies) -> None:
        self._work = work
        self._replies = replies

    async def agent_reason(self, state: AgentState) -> dict[str, Any]:
        ending = self._reason_to_end(state)
        asked = self._asked(state, ending)
        messages = [*state["messages"], *asked]
        check_pairing(messages)
        reply = await attempted(
            lambda: self._replies.reply(messages, must_submit=ending is not None),
            incident_id=state["incident_id"],
            timed={"deadline": state["deadline"]},
            patience=self._work.patience,
            until_before=self._work.patience.gather_before,
        )
        characters = sum(len(str(message.content)) for message in messages)
        spent = {"token_usage": usage_of(reply, characters), "llm_calls": 1}
        final = ending or self._final_word(reply, state["messages"])
        reminder = [] if reply.tool_calls or final is not None else [HumanMessage(_reminder(reply))]
        return {"messages": [*asked, reply, *reminder], "ending": final, **spent}

    def _final_word(self, reply: AIMessage, before: Sequence[BaseMessage]) -> RunOutcome | None:
        """Why it is not asked again: it refused, or calls nothing however often it is reminded."""
        if ending_kept(reply) is ReplyEnding.REFUSED:
            return RunOutcome.REFUSED
        said = [*(one for one in before if isinstance(one, AIMessage)), reply]
        latest = said[-(self._work.patience.reminders + 1) :]
        is_patience_gone = len(latest) > self._work.patience.reminders and not any(one.tool_calls for one in latest)
        return RunOutcome.SILENT if is_patience_gone else None

    def _asked(self, state: AgentState, ending: RunOutcome | None) -> list[BaseMessage]:
        if ending is not None:
            return [HumanMessage(SUBMIT_NOW)]
        # A reloaded run may have ended on words of the chat model, and turns must alternate.
        return [HumanMessage(NO_TOOL_CALLED)] if isinstance(state["messages"][-1], AIMessage) else []

    def _reason_to_end(self, state: AgentState) -> RunOutcome | None:
        if state["token_usage"].total_tokens >= self._work.max_tokens:
            return RunOutcome.TOKEN_CAP
        if check_deadline({"deadline": state["deadline"]}, patience=self._work.patience):
            return RunOutcome.DEADLINE
        return RunOutcome.RECURSION_LIMIT if state["remaining_steps"] <= STEPS_TO_FINISH else None

    async def execute_tools(self, state: AgentState) -> dict[str, Any]:
        """Answers every call of the turn, in its order, whatever became of it."""
        calls = cast("AIMessage", state["messages"][-1]).tool_calls
        answers = [self._answer(one, state) for one in screened(calls, self._work.of, self._work.scope)]
        return {"messages": list(await asyncio.gather(*answers))}

    async def _answer(self, question: ToolQuestion | ToolMessage, state: AgentState) -> ToolMessage:
        if isinstance(question, ToolMessage):
            return question
        return await attempted(
            lambda: asyncio.wait_for(
                ask(question, self._work.provider, self._work.ledger, self._work.of), timeout=self._work.patience.tool
            ),
            incident_id=state["incident_id"],
            timed={"deadline": state["deadline"]},
            patience=self._work.patience,
            until_before=self._work.patience.end_before,
        )

    async def submit(self, state: AgentState) -> dict[str, Any]:
        first, *others = cast("AIMessage", state["messages"][-1]).tool_calls
        surplus = [failed(str(call["id"]), SUBMIT, "one submission at a time") for call in others]
        judged = judge(
            first["args"],
            self._work.ledger.entries,
            self._work.about,
            source=self._work.source,
            by=self._work.author,
        )
        if judged.diagnosis is not None:
            accepted = ToolMessage("accepted", tool_call_id=str(first["id"]), name=SUBMIT)
            return {"messages": [accepted, *surplus], "diagnosis": judged.diagnosis}
        left = self._work.patience.rejections - state["rejections"]
        text = sent_back(judged.problems, max(left, 0))
        back = ToolMessage(text, tool_call_id=str(first["id"]), name=SUBMIT, status="error")
        return {"messages": [back, *surplus], "rejections": 1}

    def after_start(self, state: AgentState) -> str:
        return self._where_calls_go(state["messages"]) if pending_calls(state["messages"]) else REASON

    def after_reason(self, state: AgentState) -> str:
        """Asked for its answer and not giving it, a chat model is not asked again."""
        last = state["messages"][-1]
        if not isinstance(last, AIMessage):
            return REASON
        goes = self._where_calls_go([last]) if last.tool_calls else END
        return END if goes == EXECUTE and state["ending"] is not None else goes

    def _where_calls_go(self, messages: Sequence[BaseMessage]) -> Literal["execute_tools", "submit"]:
        calls = cast("AIMessage", messages[-1]).tool_calls
        return FINISH if all(call["name"] == SUBMIT for call in calls) else EXECUTE

    def after_submit(self, state: AgentState) -> str:
        may_correct = (
            state["rejections"] <= self._work.patience.rejections
            and state["remaining_steps"] > 2
            and state["token_usage"].total_tokens < self._work.max_tokens
            and seconds_left({"deadline": state["deadline"]}) > self._work.patience.gather_before
        )
        return REASON if state["diagnosis"] is None and may_correct else END


def _reminder(reply: AIMessage) -> str:
    match ending_kept(reply):
        case ReplyEnding.UNREADABLE:
            return CALL_UNREADABLE
        case ReplyEnding.CUT:
            return CALL_CUT
        case _:
            return NO_TOOL_CALLED
