"""One investigation from start to result. A result always comes back, with whatever was proven on the way."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.errors import GraphRecursionError  # pyright: ignore[reportMissingTypeStubs] - LangGraph ships none

from affidavit.agent.attempts import OutOfTime, attempted
from affidavit.agent.budget import Timed, seconds_left
from affidavit.agent.calls import Question, ask
from affidavit.agent.certainty import unanswered
from affidavit.agent.conversation import as_chain, as_saved, from_saved, is_rejected
from affidavit.agent.errors import classify_error
from affidavit.agent.graph import AgentState, Work, build_graph
from affidavit.agent.offline import OfflineChat
from affidavit.agent.patience import Patience
from affidavit.agent.prompt import SYSTEM, incident_text
from affidavit.agent.rules import best_so_far
from affidavit.agent.toolbox import Toolbox, ToolProvider
from affidavit.evidence.citation import ByteSource
from affidavit.evidence.diagnosis import Diagnosis, ProducedBy, TokenUsage
from affidavit.incidents.diagnostician import AgentError, AgentResult, Checkpoint, LeaseLost, Limits, Outcome
from affidavit.incidents.incident import Incident
from affidavit.incidents.ledger import Ledger
from affidavit.ports import JsonValue
from affidavit.workloads.records import TOOL_ARG_SCHEMAS, function_name

# Of the time for gathering; the rest is for the rules, so that all is done by `end_before`.
ASKING_SHARE = 0.8
REASONS = {
    Outcome.RECURSION_LIMIT: "recursion limit exhausted without diagnosis",
    Outcome.DEADLINE: "the deadline came before the chat model's diagnosis",
    Outcome.TOKEN_CAP: "the token cap was reached before the chat model's diagnosis",
    Outcome.UNVERIFIED: "the chat model's diagnosis did not hold",
}
REASONS_BY_RULES = {
    Outcome.DEADLINE: "the deadline came before the rules' conclusion",
    Outcome.TOKEN_CAP: "the answers are longer than the token cap allows",
    Outcome.UNVERIFIED: "rules prove nothing of what was read; no chat model was asked",
}


@dataclass(frozen=True, kw_only=True)
class ChatDiagnostician:
    """Implements `Diagnostician` with a chat model and tools."""

    chat: BaseChatModel
    toolbox: Toolbox
    patience: Patience = field(default_factory=Patience)
    source: ByteSource | None = None

    def investigate(
        self, incident: Incident, *, ledger: Ledger, limits: Limits, spent: TokenUsage, checkpoint: Checkpoint
    ) -> AgentResult:
        run = _Run(self, incident, ledger, limits, spent, checkpoint)
        return asyncio.run(run.result())


class _Run:
    def __init__(
        self,
        how: ChatDiagnostician,
        incident: Incident,
        ledger: Ledger,
        limits: Limits,
        spent: TokenUsage,
        checkpoint: Checkpoint,
    ) -> None:
        self._how = how
        self._incident = incident
        self._ledger = ledger
        self._limits = limits
        self._checkpoint = checkpoint
        self._timed: Timed = {"deadline": limits.deadline.timestamp()}
        self._functions = tuple(dict.fromkeys(function_name(name) for name in incident.resources))
        self._before = len(ledger.entries)
        self._steps = 0
        self._rule_failure: tuple[str, ...] = ()
        self._latest = self._first_state(spent, checkpoint.load())

    async def result(self) -> AgentResult:
        async with AsyncExitStack() as stack:
            try:
                provider = await self._open(stack)
            except LeaseLost:
                raise
            except Exception as error:  # noqa: BLE001 - a result always comes back, whatever failed
                return self._failed(error)
            return await self._result_with(provider)

    async def _result_with(self, provider: ToolProvider) -> AgentResult:
        try:
            ending = await self._walk(provider)
        except LeaseLost:
            raise
        except GraphRecursionError:
            ending = Outcome.RECURSION_LIMIT
        except OutOfTime:
            ending = Outcome.DEADLINE
        except Exception as error:  # noqa: BLE001 - a result always comes back, whatever failed
            await self._gather(provider)
            return self._failed(error)
        if self._latest["diagnosis"] is None:
            await self._gather(provider)
        return self._concluded(ending)

    async def _open(self, stack: AsyncExitStack) -> ToolProvider:
        """Not inside a timeout of ours: connections belong to the task that opened them."""
        return await attempted(
            lambda: stack.enter_async_context(self._how.toolbox(self._incident)),
            incident_id=self._incident.incident_id,
            timed=self._timed,
            patience=self._how.patience,
            until_before=self._how.patience.end_before,
        )

    async def _walk(self, provider: ToolProvider) -> Outcome:
        """Every step is saved, so that an attempt after a crash goes on from there."""
        work = Work(
            chat=self._how.chat,
            provider=provider,
            ledger=self._ledger,
            functions=frozenset(self._functions),
            max_tokens=self._limits.max_tokens,
            alert=f"{self._incident.signal_name}\n{self._incident.error_type}\n{self._incident.message}",
            source=self._how.source,
            patience=self._how.patience,
        )
        steps = build_graph(work).astream(  # pyright: ignore[reportUnknownMemberType] - LangGraph leaves it open
            cast("AgentState", self._latest),
            {"recursion_limit": self._how.patience.steps},
            stream_mode="values",
        )
        is_first = True
        async for state in steps:
            self._latest = {**self._latest, **cast("Mapping[str, Any]", state)}
            if not is_first:
                self._steps += 1
                self._checkpoint.save(self._saved(), self._latest["token_usage"])
            is_first = False
        return Outcome.UNVERIFIED if is_rejected(self._messages) else self._latest["ending"] or Outcome.UNVERIFIED

    async def _gather(self, provider: ToolProvider) -> None:
        """Evidence even without a chat model: what was not asked yet is asked now, while time lasts."""
        asked = {entry.tool for entry in self._ledger.entries}
        questions = [
            Question(call_id="gathered", tool=tool, arguments={"lambda_name": self._functions[0]})
            for tool in TOOL_ARG_SCHEMAS
            if self._functions and tool not in asked
        ]
        room = seconds_left(self._timed) - self._how.patience.end_before
        if not questions or room <= 0:
            return
        answers = [asyncio.ensure_future(ask(question, provider, self._ledger)) for question in questions]
        _, late = await asyncio.wait(answers, timeout=min(room * ASKING_SHARE, self._how.patience.tool))
        for task in late:
            task.cancel()
        # What failed here has no answer in the ledger, and that is what the gaps will say.
        await asyncio.gather(*answers, return_exceptions=True)

    def _concluded(self, outcome: Outcome) -> AgentResult:
        """The accepted diagnosis, else what the rules prove, else the reason why there is none."""
        accepted = cast("Diagnosis | None", self._latest["diagnosis"])
        if accepted is not None:
            gaps = (*accepted.gaps, *self._dissent(accepted))
            told = accepted.model_copy(update={"produced_by": self._author, "gaps": gaps})
            return self._as_result(Outcome.DIAGNOSED, diagnosis=told)
        reason = self._reason(outcome)
        proven = self._best(reason)
        if proven is not None:
            return self._as_result(Outcome.DIAGNOSED, diagnosis=proven)
        why = (*unanswered(self._ledger.entries), reason, *self._unasked())
        return self._as_result(outcome, gaps=why)

    def _reason(self, outcome: Outcome) -> str:
        own = REASONS_BY_RULES.get(outcome) if self._author is ProducedBy.RULES else None
        return own or REASONS.get(outcome, str(outcome))

    def _dissent(self, accepted: Diagnosis) -> tuple[str, ...]:
        """True pointers can be cited for a false cause. What rules make of the same answers stands beside it, then."""
        proven = self._best("") if self._author is ProducedBy.CHAT_MODEL else None
        if proven is None or set(proven.fault_types) == set(accepted.fault_types):
            return ()
        kinds = ", ".join(proven.fault_types) or "no fault"
        return (f"rules read the same answers otherwise ({kinds}): {proven.root_cause}"[:1000],)

    def _failed(self, error: BaseException) -> AgentResult:
        """Somebody may cure it, so the run failed; what the rules prove meanwhile goes along."""
        told = classify_error(error)
        best = self._best(f"the run failed: {told}")
        return self._as_result(Outcome.ERROR, error=told, best_so_far=best, gaps=self._unasked())

    def _best(self, gap: str) -> Diagnosis | None:
        try:
            return best_so_far(self._ledger.entries, (gap[:1000], *self._unasked()))
        except Exception as error:  # noqa: BLE001 - a bug in a rule must not cost the result of the run
            self._rule_failure = (f"the rules failed: {type(error).__name__}: {error}"[:1000],)
            return None

    def _unasked(self) -> tuple[str, ...]:
        answered = {entry.tool for entry in self._ledger.entries}
        missing = (f"{tool} was not answered" for tool in TOOL_ARG_SCHEMAS if tool not in answered)
        return (*self._rule_failure, *missing)

    def _as_result(
        self,
        outcome: Outcome,
        *,
        diagnosis: Diagnosis | None = None,
        best_so_far: Diagnosis | None = None,
        error: AgentError | None = None,
        gaps: tuple[str, ...] = (),
    ) -> AgentResult:
        return AgentResult(
            outcome=outcome,
            token_usage=self._latest["token_usage"],
            diagnosis=diagnosis,
            best_so_far=best_so_far,
            reasoning_chain=as_chain(self._messages),
            error=error,
            # Rules take the turns of a chat model, but nobody was called.
            llm_calls=0 if self._author is ProducedBy.RULES else self._latest["llm_calls"],
            tools_called=tuple(entry.tool for entry in self._ledger.entries[self._before :]),
            steps=self._steps,
            gaps=gaps,
        )

    @property
    def _author(self) -> ProducedBy:
        return ProducedBy.RULES if isinstance(self._how.chat, OfflineChat) else ProducedBy.CHAT_MODEL

    @property
    def _messages(self) -> Sequence[BaseMessage]:
        return cast("Sequence[BaseMessage]", self._latest["messages"])

    def _first_state(self, spent: TokenUsage, saved: JsonValue) -> dict[str, Any]:
        shape = cast("Mapping[str, Any]", saved if isinstance(saved, Mapping) else {})
        described = _described(self._incident)
        messages = from_saved(shape["messages"]) if shape.get("messages") else _opening(described, self._functions)
        return {
            "messages": messages,
            "incident": described,
            "incident_id": self._incident.incident_id,
            "diagnosis": None,
            "deadline": self._timed["deadline"],
            "token_usage": spent,
            "llm_calls": 0,
            "rejections": shape.get("rejections", 0),
            "ending": None,
        }

    def _saved(self) -> JsonValue:
        return {"messages": as_saved(self._messages), "rejections": self._latest["rejections"]}


def _opening(described: Mapping[str, object], functions: Sequence[str]) -> list[BaseMessage]:
    return [SystemMessage(SYSTEM), HumanMessage(incident_text(described, functions))]


def _described(incident: Incident) -> dict[str, object]:
    return {
        "signal": str(incident.signal),
        "signal_name": incident.signal_name,
        "error_type": incident.error_type,
        "message": incident.message,
        "occurred_at": incident.occurred_at.isoformat(),
        "region": incident.region,
        "resources": list(incident.resources),
    }
