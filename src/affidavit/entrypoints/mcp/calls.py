"""One tool call from its arguments to what leaves: check, ask, redact, count. Every transport comes through here."""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ValidationError

from affidavit.entrypoints.mcp.envelope import envelope
from affidavit.entrypoints.mcp.failures import bad_arguments, failure, shape
from affidavit.entrypoints.mcp.schemas import DEBUG, arguments_of
from affidavit.entrypoints.mcp.services import Services
from affidavit.entrypoints.mcp.tool import Tool, Toolset
from affidavit.entrypoints.mcp.truncation import truncation_of
from affidavit.errors import InputRefused
from affidavit.nodes.answers.wire import Answer
from affidavit.nodes.keys import instance_in
from affidavit.ports import JsonValue
from affidavit.redaction.answer import NOTHING, redact_answer
from affidavit.redaction.redact import Redactor
from affidavit.telemetry import ToolCall, tool_call
from affidavit.workloads.records import FUNCTION

COLLECT_SCOPE = "affidavit:collect"
# The prefix of a log key, with room to spare.
_LONGEST_NAMED = 40


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """`content` is the structured content of the tool result."""

    content: dict[str, JsonValue]
    is_error: bool


@dataclass(frozen=True, kw_only=True)
class Calls:
    services: Services
    redactor: Redactor
    tools: Mapping[str, Tool]
    allows_debug: bool = False

    def call(
        self,
        tool: Tool,
        arguments: Mapping[str, Any],
        *,
        wants_debug: bool = False,
        may_act: bool = True,
    ) -> Outcome:
        """Never raises: this is the door, and what is not foreseen leaves as a log id."""
        with tool_call(tool.name, _instance(arguments)) as measured:
            try:
                return self._answer(tool, arguments, wants_debug=wants_debug, may_act=may_act, measured=measured)
            except Exception as error:  # noqa: BLE001  # the door
                measured.failed()
                return Outcome(content=self._harmless(failure(error, tool.name), tool), is_error=True)

    def _answer(
        self, tool: Tool, arguments: Mapping[str, Any], *, wants_debug: bool, may_act: bool, measured: ToolCall
    ) -> Outcome:
        started = time.perf_counter()
        given = dict(arguments)
        wants_debug |= self.allows_debug and _flag(given.pop(DEBUG, False), tool)
        request = _request(tool, given)
        if not may_act and _acts(tool, request):
            measured.failed()
            return Outcome(content=_out_of_scope(tool), is_error=True)
        answer = self._redacted(self.services.answer(tool, request), tool)
        measured.answered(answer)
        if self.allows_debug and wants_debug:
            answer["_debug"] = envelope(
                tool.name,
                question=arguments_of(request),
                answer=answer,
                seconds=time.perf_counter() - started,
                is_deterministic=tool.is_deterministic and not _asks_for_baselines(request),
            )
        return Outcome(content=answer, is_error=False)

    def _redacted(self, answer: BaseModel, tool: Tool) -> dict[str, JsonValue]:
        cut = {} if tool.toolset is Toolset.NODES else truncation_of(answer)
        around = answer.around if isinstance(answer, Answer) else NOTHING
        content, tally = redact_answer({**wire(answer), **cut}, self.redactor, around)
        gaps: dict[str, JsonValue] = {"redaction_gaps": list(tally.gaps)} if tally.gaps else {}
        return {"success": True, **content, "redacted": dict(tally.counts), **gaps}

    def _harmless(self, content: dict[str, JsonValue], tool: Tool) -> dict[str, JsonValue]:
        """An error may name what the caller or a log said. No service is asked: it may be what failed."""
        try:
            return redact_answer(content, replace(self.redactor, inquiry=None))[0]
        except Exception as error:  # noqa: BLE001  # the door
            return failure(error, tool.name)


def wire(answer: BaseModel) -> dict[str, Any]:
    """The error variant of a workload's answer leaves as a tool error, so an answer has no room for it."""
    dumped = answer.model_dump(mode="json", by_alias=True)
    return {name: value for name, value in dumped.items() if not (name in ("error", "hint") and value is None)}


def _request(tool: Tool, given: Mapping[str, Any]) -> BaseModel:
    try:
        # By the names of the schema alone: a call that works here works behind a gateway that checks it too. An
        # argument nobody reads would change the question in the caller's eyes only, whatever the record forgives.
        return tool.request.model_validate(given, by_alias=True, by_name=False, extra="forbid")
    except ValidationError as error:
        raise bad_arguments(error, tool) from error


def _flag(value: object, tool: Tool) -> bool:
    if not isinstance(value, bool):
        raise InputRefused(
            f"{tool.name} cannot use these arguments: {DEBUG}: it should be true or false", hint=f"leave {DEBUG} out"
        )
    return value


def _asks_for_baselines(request: BaseModel) -> bool:
    """What other bundles of the cluster show is no part of this evidence, and changes with each of them."""
    return getattr(request, "cluster_context", None) is not None


def _acts(tool: Tool, request: BaseModel) -> bool:
    """`status` only acts when it cancels."""
    return tool.acts and getattr(request, "cancel", True)


def _out_of_scope(tool: Tool) -> dict[str, JsonValue]:
    return shape(403, f"this token may not use {tool.name}", f"ask for a token with the scope {COLLECT_SCOPE}")


def _instance(arguments: Mapping[str, Any]) -> str | None:
    """Whom a call is about, for its span: what a caller says is not believed to be a name before it looks like one."""
    named = arguments.get("instanceId") or arguments.get("logKey")
    if isinstance(named, str):
        return instance_in(named[:_LONGEST_NAMED])
    function = arguments.get("lambda_name")
    return function if isinstance(function, str) and re.fullmatch(FUNCTION, function) else None
