"""A chat model without a network: it asks by the kind of error and submits what the rules prove.

It sees what any chat model sees, the turns of the conversation, and has to pass the same verification.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage

from affidavit.agent.chat.scripted_base import ScriptedChat
from affidavit.agent.prompt_messages import ASK_AGAIN, alert_told, subjects_named
from affidavit.agent.subjects.registry import investigable
from affidavit.agent.time_and_tokens import CHARACTERS_PER_TOKEN
from affidavit.agent.tool_specifications import SUBMIT
from affidavit.agent.toolbox.shown_answer import answer_shown
from affidavit.evidence.diagnosis import Diagnosis, FaultType, IncidentSeverity, ProducedBy
from affidavit.verification.ledger_entry import Entry, make_entry


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
    subject = next(iter(subjects_named(alert)), None)
    if subject is None:
        return _finish(None)
    of = investigable(subject.kind)
    asked = {one.tool for one in answered}
    wanted = [tool for tool in (of.unprompted if asked else of.first_tools(alert)) if tool not in asked]
    if wanted and not must_submit:
        calls = tuple((tool, of.arguments(tool, subject.id)) for tool in wanted)
        return Move(text=f"The alert is about {subject.id}; I ask {', '.join(wanted)}.", calls=calls)
    entries = [entry for number, one in enumerate(answered) if (entry := _entry(number, one)) is not None]
    return _finish(of.conclude(entries, alert=alert_told(alert)))


def _finish(proven: Diagnosis | None) -> Move:
    return Move(text="This is what can be proven.", calls=((SUBMIT, submission(proven)),))


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
    shaped = json.loads(proven.model_dump_json(exclude={"produced_by", "confidence", "grade", "open_obligations"}))
    return {**shaped, "confidence": str(proven.confidence.level)}


def _entry(number: int, one: Answered) -> Entry | None:
    answer = answer_shown(one.text)
    return make_entry(f"E-{number + 1:03d}", one.tool, one.arguments, answer) if answer is not None else None


class OfflineChat(ScriptedChat):
    """Counts no tokens but those it would have read and written, so that budgets work the same."""

    author: ClassVar[ProducedBy] = ProducedBy.RULES

    @property
    def _llm_type(self) -> str:
        return "affidavit-offline"

    def reply(self, messages: Sequence[BaseMessage], *, must_submit: bool) -> AIMessage:
        move = next_move(_alert(messages), _answered(messages), must_submit=must_submit)
        read = sum(len(str(message.content)) for message in messages) // CHARACTERS_PER_TOKEN
        written = len(json.dumps(move.calls)) // CHARACTERS_PER_TOKEN
        return AIMessage(
            content=move.text,
            tool_calls=_calls(move, len(messages)),
            usage_metadata={"input_tokens": read, "output_tokens": written, "total_tokens": read + written},
        )


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
    since = _last_interruption(messages)
    return [
        Answered(tool=asked[one.tool_call_id]["name"], arguments=asked[one.tool_call_id]["args"], text=str(one.content))
        for number, one in enumerate(messages)
        if isinstance(one, ToolMessage) and one.tool_call_id in asked and asked[one.tool_call_id]["name"] != SUBMIT
        # What failed before an interruption is asked again.
        if number > since or one.status != "error"
    ]


def _last_interruption(messages: Sequence[BaseMessage]) -> int:
    marks = [number for number, one in enumerate(messages) if str(one.content).startswith(ASK_AGAIN)]
    return max((number for number in marks if messages[number].type == "human"), default=-1)
