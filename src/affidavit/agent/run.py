"""One investigation from start to result. A result always comes back, with whatever was proven on the way."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.errors import GraphRecursionError  # pyright: ignore[reportMissingTypeStubs] - LangGraph ships none

from affidavit.agent.chat.model_turns import as_chain, as_saved, from_saved, is_rejected, pending_calls, refusals
from affidavit.agent.chat.providers.bedrock import BEDROCK
from affidavit.agent.chat.providers.provider import Provider
from affidavit.agent.chat.retries import OutOfTime, attempted
from affidavit.agent.chat.tracing_off import switch_off_tracing
from affidavit.agent.error_categories import classify_error
from affidavit.agent.graph import AgentState, Work, build_graph
from affidavit.agent.limits import Patience
from affidavit.agent.prompt_messages import ASK_AGAIN, described, incident_text
from affidavit.agent.subjects.registry import investigable
from affidavit.agent.time_and_tokens import Timed, seconds_left
from affidavit.agent.toolbox.checked_calls import ToolQuestion, ask
from affidavit.agent.toolbox.failed_tools import failed_tools, unanswered
from affidavit.agent.toolbox.tool_providers import Toolbox, ToolProvider
from affidavit.evidence.citation_check import ByteSource
from affidavit.evidence.diagnosis import Diagnosis, FaultType, Grade, ProducedBy, TokenUsage
from affidavit.incidents.attempt.answer_ledger import Ledger
from affidavit.incidents.attempt.diagnostician_port import (
    AgentError,
    AgentResult,
    Checkpoint,
    LeaseLost,
    Limits,
    RunOutcome,
)
from affidavit.incidents.attempt.incident_for_verification import about_incident
from affidavit.incidents.incident import Incident
from affidavit.ports.json import JsonValue

# Of the time for gathering; the rest is for the rules, so that all is done by `end_before`.
ASKING_SHARE = 0.8
REASONS = {
    RunOutcome.RECURSION_LIMIT: "recursion limit exhausted without diagnosis",
    RunOutcome.DEADLINE: "the deadline came before the chat model's diagnosis",
    RunOutcome.TOKEN_CAP: "the token cap was reached before the chat model's diagnosis",
    RunOutcome.UNVERIFIED: "the chat model's diagnosis did not hold",
    RunOutcome.REFUSED: "the chat model refused to answer",
    RunOutcome.SILENT: "the chat model called no tool, also when reminded",
}
REASONS_BY_RULES = {
    RunOutcome.DEADLINE: "the deadline came before the rules' conclusion",
    RunOutcome.TOKEN_CAP: "the answers are longer than the token cap allows",
    RunOutcome.UNVERIFIED: "rules prove nothing of what was read; no chat model was asked",
}


class ForeignSubject(Exception):
    """What answered is another thing of the same name."""


@dataclass(frozen=True, kw_only=True)
class ChatDiagnostician:
    """Implements `Diagnostician` with a chat model and tools."""

    chat: BaseChatModel
    toolbox: Toolbox
    provider: Provider = BEDROCK
    patience: Patience = field(default_factory=Patience)
    source: ByteSource | None = None

    def investigate(
        self, incident: Incident, *, ledger: Ledger, limits: Limits, spent: TokenUsage, checkpoint: Checkpoint
    ) -> AgentResult:
        switch_off_tracing()
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
        self._of = investigable(incident.subject.kind)
        self._ids = tuple(dict.fromkeys(self._of.subject_id(name) for name in incident.resources))
        self._scope = self._of.scope(incident, ledger.entries)
        self._before = len(ledger.entries)
        self._failed_before = failed_tools(ledger.entries)
        self._steps = 0
        self._told_before = 0
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
            ending = RunOutcome.RECURSION_LIMIT
        except OutOfTime:
            ending = RunOutcome.DEADLINE
        except ForeignSubject as error:
            # Nothing that was read is about the incident, so nothing of it is kept as a conclusion.
            return self._as_result(RunOutcome.FOREIGN, gaps=(str(error),))
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

    async def _walk(self, provider: ToolProvider) -> RunOutcome:
        """Every step is saved, so that an attempt after a crash goes on from there."""
        work = Work(
            chat=self._how.chat,
            provider=provider,
            model=self._how.provider,
            ledger=self._ledger,
            of=self._of,
            scope=self._scope,
            max_tokens=self._limits.max_tokens,
            about=about_incident(self._incident),
            source=self._how.source,
            author=self._author,
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
            if why := self._of.mismatch(self._incident, self._ledger.entries):
                raise ForeignSubject(why)
            if not is_first:
                self._steps += 1
                self._checkpoint.save(self._saved(), self._latest["token_usage"])
            is_first = False
        return RunOutcome.UNVERIFIED if is_rejected(self._messages) else self._latest["ending"] or RunOutcome.UNVERIFIED

    async def _gather(self, provider: ToolProvider) -> None:
        """Evidence even without a chat model: what was not asked yet is asked now, while time lasts."""
        asked = {entry.tool for entry in self._ledger.entries} - self._failed_before
        questions = [
            ToolQuestion(call_id="gathered", tool=tool, arguments=self._chosen_arguments(tool))
            for tool in self._of.unprompted
            if self._ids and tool not in asked
        ]
        room = seconds_left(self._timed) - self._how.patience.end_before
        if not questions or room <= 0:
            return
        answers = [asyncio.ensure_future(ask(question, provider, self._ledger, self._of)) for question in questions]
        _, late = await asyncio.wait(answers, timeout=min(room * ASKING_SHARE, self._how.patience.tool))
        for task in late:
            task.cancel()
        # What failed here has no answer in the ledger, and that is what the gaps will say.
        await asyncio.gather(*answers, return_exceptions=True)

    def _chosen_arguments(self, tool: str) -> Mapping[str, JsonValue]:
        return self._of.scoped(tool, self._of.arguments(tool, self._ids[0]), self._scope)

    def _concluded(self, outcome: RunOutcome) -> AgentResult:
        """The accepted diagnosis, else what the rules prove, else the reason why there is none."""
        accepted = cast("Diagnosis | None", self._latest["diagnosis"])
        if accepted is not None:
            gaps = tuple(dict.fromkeys((*accepted.gaps, *self._of.gaps(self._ledger.entries))))[:100]
            signed = accepted.model_copy(update={"produced_by": self._author, "gaps": gaps})
            told = self._with_dissent(self._of.completed(signed, self._ledger.entries))
            return self._as_result(RunOutcome.DIAGNOSED, diagnosis=told)
        reason = self._reason(outcome)
        proven = self._best(reason)
        if proven is not None:
            return self._as_result(RunOutcome.DIAGNOSED, diagnosis=proven)
        why = (*unanswered(self._ledger.entries), reason, *self._unasked())
        return self._as_result(outcome, gaps=why)

    def _reason(self, outcome: RunOutcome) -> str:
        own = REASONS_BY_RULES.get(outcome) if self._author is ProducedBy.RULES else None
        return own or REASONS.get(outcome, str(outcome))

    def _with_dissent(self, accepted: Diagnosis) -> Diagnosis:
        """True pointers can be cited for a false cause: what rules make of the same answers stands beside it.

        Where the chat model found no cause and rules do, theirs is taken.
        """
        rules = self._best("") if self._author is ProducedBy.CHAT_MODEL else None
        if rules is None or set(rules.fault_types) == set(accepted.fault_types):
            return accepted
        if set(accepted.fault_types) == {FaultType.UNKNOWN}:
            gap = f"the chat model found no cause: {accepted.root_cause}"[:1000]
            return rules.model_copy(update={"gaps": (*(one for one in rules.gaps if one), gap)})
        kinds = ", ".join(rules.fault_types) or "no fault"
        doubt = f"rules read the same answers otherwise ({kinds}): {rules.root_cause}"[:1000]
        opened = (*accepted.open_obligations, doubt)
        return accepted.model_copy(update={"grade": Grade.SUPPORTED, "open_obligations": opened})

    def _failed(self, error: BaseException) -> AgentResult:
        """Somebody may cure it, so the run failed; what the rules prove meanwhile goes along."""
        told = classify_error(error)
        best = self._best(f"the run failed: {told}")
        return self._as_result(RunOutcome.ERROR, error=told, best_so_far=best, gaps=self._unasked())

    def _best(self, gap: str) -> Diagnosis | None:
        try:
            gaps = (gap[:1000], *self._unasked())
            return self._of.conclude(self._ledger.entries, gaps, alert=described(self._incident))
        except Exception as error:  # noqa: BLE001 - a bug in a rule must not cost the result of the run
            self._rule_failure = (f"the rules failed: {type(error).__name__}: {error}"[:1000],)
            return None

    def _unasked(self) -> tuple[str, ...]:
        answered = {entry.tool for entry in self._ledger.entries}
        missing = (f"{tool} was not answered" for tool in self._of.unprompted if tool not in answered)
        return (*self._rule_failure, *missing)

    def _as_result(
        self,
        outcome: RunOutcome,
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
            refusals=refusals(self._messages[self._told_before :]),
        )

    @property
    def _author(self) -> ProducedBy:
        return getattr(self._how.chat, "author", ProducedBy.CHAT_MODEL)

    @property
    def _messages(self) -> Sequence[BaseMessage]:
        return cast("Sequence[BaseMessage]", self._latest["messages"])

    def _first_state(self, spent: TokenUsage, saved: JsonValue) -> dict[str, Any]:
        shape = cast("Mapping[str, Any]", saved if isinstance(saved, Mapping) else {})
        told = described(self._incident)
        messages = self._resumed(shape) if shape.get("messages") else self._opening(told)
        return {
            "messages": messages,
            "incident": told,
            "incident_id": self._incident.incident_id,
            "diagnosis": None,
            "deadline": self._timed["deadline"],
            "token_usage": spent,
            "llm_calls": 0,
            "rejections": shape.get("rejections", 0),
            "ending": None,
        }

    def _opening(self, told: Mapping[str, object]) -> list[BaseMessage]:
        text = incident_text(told, self._of.kind, self._ids, notes=self._of.notes(self._ledger.entries))
        return [SystemMessage(self._of.prompt), HumanMessage(text)]

    def _resumed(self, shape: Mapping[str, Any]) -> list[BaseMessage]:
        """The conversation so far. An error is no answer: what failed in an earlier attempt may be asked again."""
        messages = from_saved(shape["messages"])
        self._told_before = len(messages)
        if self._failed_before and not pending_calls(messages):
            messages.append(HumanMessage(f"{ASK_AGAIN}{', '.join(sorted(self._failed_before))}."))
        return messages

    def _saved(self) -> JsonValue:
        return {"messages": as_saved(self._messages), "rejections": self._latest["rejections"]}
