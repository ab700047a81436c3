"""A chat model without a network: it asks by the kind of error and submits what the rules prove.

It sees what any chat model sees, the turns of the conversation, and has to pass the same verification.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool

from affidavit.agent.budget import CHARACTERS_PER_TOKEN
from affidavit.agent.prompt import functions_named
from affidavit.agent.rules import best_so_far
from affidavit.agent.rules.facts import CONFIG, IAM, LOGS, NETWORK
from affidavit.agent.tools import SUBMIT
from affidavit.agent.view import answer_shown
from affidavit.evidence.diagnosis import Diagnosis, FaultType, IncidentSeverity
from affidavit.verification.entry import Entry, make_entry

_FIRST = (
    (("denied", "accessdenied", "unauthorized", "forbidden", "kms"), (LOGS, IAM)),
    (("throttl", "concurren", "ratelimit"), (CONFIG, LOGS)),
    (("connect", "timeout", "timed out", "unreachable", "enotfound", "resolve"), (LOGS, NETWORK)),
)
_ALL = (LOGS, CONFIG, IAM, NETWORK)


@dataclass(frozen=True, kw_only=True)
class Move:
    """The next turn: what is said, and the calls as (tool, arguments)."""

    text: str
    calls: tuple[tuple[str, Mapping[str, Any]], ...]


@dataclass(frozen=True, kw_only=True)
class Answered:
    tool: str
    arguments: Mapping[str, Any]
    text: str


def next_move(alert: str, answered: Sequence[Answered], *, must_submit: bool = False) -> Move:
    """Two rounds of questions at most, the likely ones first; then the diagnosis."""
    function = next(iter(functions_named(alert)), "")
    asked = {one.tool for one in answered}
    wanted = [tool for tool in (_first(alert) if not asked else _ALL) if tool not in asked]
    if wanted and function and not must_submit:
        calls = tuple((tool, {"lambda_name": function}) for tool in wanted)
        return Move(text=f"The alert is about {function}; I ask {', '.join(wanted)}.", calls=calls)
    entries = [entry for number, one in enumerate(answered) if (entry := _entry(number, one)) is not None]
    return Move(text="This is what can be proven.", calls=((SUBMIT, submission(best_so_far(entries))),))


def submission(diagnosis: Diagnosis | None) -> dict[str, Any]:
    """As tool arguments. With nothing proven it is empty of evidence, and verification turns it down."""
    proven = diagnosis or Diagnosis.model_validate(
        {
            "root_cause": "Nothing could be proven from what was read.",
            "fault_types": [FaultType.UNKNOWN],
            "affected_resources": [],
            "severity": IncidentSeverity.MEDIUM,
            "evidence": [],
            "remediation_plan": [],
            "gaps": ["the cause"],
            "confidence": "low",
        }
    )
    shaped = json.loads(proven.model_dump_json(exclude={"produced_by", "confidence"}))
    return {**shaped, "confidence": str(proven.confidence.level)}


def _first(alert: str) -> tuple[str, ...]:
    lowered = alert.lower()
    return next((tools for words, tools in _FIRST if any(word in lowered for word in words)), (LOGS, CONFIG))


def _entry(number: int, one: Answered) -> Entry | None:
    answer = answer_shown(one.text)
    return make_entry(f"E-{number + 1:03d}", one.tool, one.arguments, answer) if answer is not None else None


class OfflineChat(BaseChatModel):
    """Counts no tokens but those it would have read and written, so that budgets work the same."""

    @property
    def _llm_type(self) -> str:
        return "affidavit-offline"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        return cast("Runnable[LanguageModelInput, AIMessage]", self.bind(must_submit=tool_choice == SUBMIT))

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        move = next_move(_alert(messages), _answered(messages), must_submit=bool(kwargs.get("must_submit")))
        reply = AIMessage(content=move.text, tool_calls=_calls(move, len(messages)))
        read = sum(len(str(message.content)) for message in messages) // CHARACTERS_PER_TOKEN
        written = len(json.dumps(move.calls)) // CHARACTERS_PER_TOKEN
        reply.usage_metadata = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
        return ChatResult(generations=[ChatGeneration(message=reply)])


def _alert(messages: Sequence[BaseMessage]) -> str:
    return next((str(message.content) for message in messages if message.type == "human"), "")


def _calls(move: Move, turn: int) -> list[ToolCall]:
    return [
        ToolCall(name=tool, args=dict(arguments), id=f"call_{turn}_{number}", type="tool_call")
        for number, (tool, arguments) in enumerate(move.calls)
    ]


def _answered(messages: Sequence[BaseMessage]) -> list[Answered]:
    asked = {
        str(call["id"]): call for message in messages if isinstance(message, AIMessage) for call in message.tool_calls
    }
    return [
        Answered(tool=asked[one.tool_call_id]["name"], arguments=asked[one.tool_call_id]["args"], text=str(one.content))
        for one in messages
        if isinstance(one, ToolMessage) and one.tool_call_id in asked and asked[one.tool_call_id]["name"] != SUBMIT
    ]
