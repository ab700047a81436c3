"""One tool call of the chat model: checked before it leaves, checked when it is back, recorded, then shown."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.messages import ToolCall, ToolMessage
from pydantic import ValidationError

from affidavit.agent.subjects.investigable import Investigable, OutOfScope, Scope
from affidavit.agent.tool_specifications import SUBMIT
from affidavit.agent.toolbox.shown_answer import shown
from affidavit.agent.toolbox.tool_providers import EMPTY, ToolProvider
from affidavit.errors import InputRefused
from affidavit.incidents.attempt.answer_ledger import Ledger
from affidavit.ports.json import JsonValue

CALLS_AT_ONCE = 8


class Refused(Exception):
    """The call never leaves: its text goes to the chat model."""


@dataclass(frozen=True, kw_only=True)
class ToolQuestion:
    """A call that may be made. `arguments` hold nothing the chat model made up beside the schema."""

    call_id: str
    tool: str
    arguments: Mapping[str, JsonValue]


def screened(calls: Sequence[ToolCall], of: Investigable, scope: Scope) -> list[ToolQuestion | ToolMessage]:
    """For each call, in order, a question to ask or the reason why it is not asked."""
    return [_screen(number, call, of, scope) for number, call in enumerate(calls)]


def _screen(number: int, call: ToolCall, of: Investigable, scope: Scope) -> ToolQuestion | ToolMessage:
    call_id = str(call["id"])
    try:
        if number >= CALLS_AT_ONCE:
            raise Refused(f"only {CALLS_AT_ONCE} calls are made at once; this one was not made")
        return ToolQuestion(
            call_id=call_id, tool=call["name"], arguments=_arguments(call["name"], call["args"], of, scope)
        )
    except Refused as refusal:
        return failed(call_id, call["name"], str(refusal))


def _arguments(tool: str, given: Mapping[str, Any], of: Investigable, scope: Scope) -> Mapping[str, JsonValue]:
    if tool == SUBMIT:
        raise Refused("not considered: it was called together with tools whose answers you had not read; call it alone")
    if tool not in of.argument_schemas:
        raise Refused(f"unknown tool; there are {', '.join(of.argument_schemas)} and {SUBMIT}")
    try:
        return of.scoped(tool, given, scope)
    except ValidationError as error:
        raise Refused(f"the arguments cannot be used: {_troubles(error)}") from error
    except OutOfScope as error:
        # A log line must not be able to steer us to something else.
        raise Refused(str(error)) from error


async def ask(question: ToolQuestion, provider: ToolProvider, ledger: Ledger, of: Investigable) -> ToolMessage:
    """The answer, recorded and shown. An answer that does not fit the tool's schema is neither."""
    text = await provider.call_tool(question.tool, question.arguments)
    try:
        answer = checked(question.tool, text, of)
        ledger.record(question.tool, question.arguments, answer)
    except Refused as refusal:
        return failed(question.call_id, question.tool, str(refusal))
    except InputRefused as error:
        return failed(question.call_id, question.tool, f"the answer cannot be recorded and was thrown away: {error}")
    status = "error" if answer.get("error") else "success"
    view = shown(question.tool, answer, of)
    return ToolMessage(view, tool_call_id=question.call_id, name=question.tool, status=status)


def checked(tool: str, text: str, of: Investigable) -> Mapping[str, JsonValue]:
    """The answer that this text is. Raises Refused when it is none."""
    try:
        answer: object = json.loads(text.strip() or EMPTY)
    except ValueError as error:
        raise Refused("the answer is not JSON and was thrown away; nothing is known from it") from error
    except RecursionError as error:
        raise Refused("the answer is nested too deeply and was thrown away; nothing is known from it") from error
    if not isinstance(answer, dict):
        raise Refused("the answer is not an object and was thrown away; nothing is known from it")
    try:
        of.answer_schemas[tool].model_validate(answer)
    except ValidationError as error:
        raise Refused(
            f"the answer does not match this tool's schema and was thrown away: {_troubles(error)}"
        ) from error
    return cast("Mapping[str, JsonValue]", answer)


def failed(call_id: str, tool: str, reason: str) -> ToolMessage:
    return ToolMessage(json.dumps({"error": reason}), tool_call_id=call_id, name=tool, status="error")


def _troubles(error: ValidationError) -> str:
    """Where and what, never the value: it may be text that somebody planted."""
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:10])
