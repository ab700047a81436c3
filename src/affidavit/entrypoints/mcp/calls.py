"""One tool call from its arguments to what leaves: check, ask, redact, count. Every transport comes through here."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

from affidavit.entrypoints.mcp.scopes import ALL_SCOPES, AccessScope
from affidavit.entrypoints.mcp.services import Services
from affidavit.entrypoints.mcp.tool_errors import bad_arguments, failure, shape
from affidavit.entrypoints.mcp.tools.deprecated_calls import as_meant
from affidavit.entrypoints.mcp.tools.question_and_answer_hashes import envelope
from affidavit.entrypoints.mcp.tools.schemas import DEBUG, arguments_of
from affidavit.entrypoints.mcp.tools.tool import Tool
from affidavit.entrypoints.mcp.tools.workload_truncation_info import fitted
from affidavit.errors import InputRefused, InvariantBroken
from affidavit.evidence.finding import EXCERPT_CHARACTERS
from affidavit.nodes.library.object_keys import instance_in
from affidavit.ports.json import JsonValue
from affidavit.redaction.answer import redact_answer
from affidavit.redaction.redact import Redactor
from affidavit.telemetry import ToolCall, tool_call
from affidavit.wire.byte_budget import MAX_BYTES
from affidavit.workloads.wire import FUNCTION, Answer, WorkloadArgs

# The prefix of a log key, with room to spare.
_LONGEST_NAMED = 40
# An answer that redaction made longer than it may be is made again, shorter by this much more.
_SLACK = 256
_ATTEMPTS = 4
# Links to whole files, which are not redacted.
_LINKS = frozenset({"link"})


@dataclass(frozen=True, kw_only=True)
class CallOutcome:
    """`content` is an answer, or an error in the shape of all errors."""

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
        scopes: frozenset[AccessScope] = ALL_SCOPES,
    ) -> CallOutcome:
        """Raises only Abandoned: every error leaves as an outcome, one that nobody foresaw as a log id."""
        tool, arguments = as_meant(tool, arguments, self.tools)
        with tool_call(tool.name, _instance(arguments)) as measured:
            try:
                if tool.scope not in scopes:
                    measured.failed()
                    return CallOutcome(content=_out_of_scope(tool), is_error=True)
                return self._answer(tool, arguments, wants_debug=wants_debug, scopes=scopes, measured=measured)
            except Exception as error:  # noqa: BLE001  # the door
                measured.failed()
                return CallOutcome(content=self._harmless(failure(error, tool.name), tool), is_error=True)

    def _answer(
        self,
        tool: Tool,
        arguments: Mapping[str, Any],
        *,
        wants_debug: bool,
        scopes: frozenset[AccessScope],
        measured: ToolCall,
    ) -> CallOutcome:
        started = time.perf_counter()
        given = dict(arguments)
        wants_debug |= self.allows_debug and _flag(given.pop(DEBUG, False), tool)
        request = _request(tool, given)
        answer = _without_links(self._fitting(tool, request), scopes)
        measured.answered(answer)
        if self.allows_debug and wants_debug:
            answer["_debug"] = envelope(
                tool.name,
                question=arguments_of(request),
                answer=answer,
                seconds=time.perf_counter() - started,
                is_deterministic=tool.is_deterministic and not _asks_for_baselines(request),
            )
        return CallOutcome(content=answer, is_error=False)

    def _fitting(self, tool: Tool, request: BaseModel) -> dict[str, JsonValue]:
        """Questions keep to `max_bytes` before redaction; a marker can be longer than what it hides."""
        limit: int | None = getattr(request, "max_bytes", None)
        ask = self._asking(tool, request)
        answer, asked = ask(limit), limit or 0
        for _ in range(_ATTEMPTS):
            over = len(to_json(answer)) - limit if limit is not None else 0
            if over <= 0:
                break
            asked = max(1, asked - over - _SLACK)
            shorter = ask(asked)
            if len(to_json(shorter)) >= len(to_json(answer)):
                break  # it is as short as it can be: one line of a file, however long
            answer = shorter
        return answer

    def _asking(self, tool: Tool, request: BaseModel) -> Callable[[int | None], dict[str, JsonValue]]:
        """The answer, redacted, within so many bytes. An AWS account is asked once, whatever the length."""
        if isinstance(request, WorkloadArgs):
            whole = self.services.answer(tool, request)
            return lambda limit: self._redacted(_workload_answer(whole, tool, request, limit), tool)

        def ask(limit: int | None) -> dict[str, JsonValue]:
            asked = request if limit is None else request.model_copy(update={"max_bytes": limit})
            return self._redacted(wire(self.services.answer(tool, asked)), tool)

        return ask

    def _redacted(self, answer: dict[str, Any], tool: Tool) -> dict[str, JsonValue]:
        left = self.services.leaving(tool, answer)
        content, tally = redact_answer(left.content, self.redactor, left.around)
        gaps: dict[str, JsonValue] = {"redaction_gaps": list(tally.gaps)} if tally.gaps else {}
        return {"success": True, **_with_short_excerpts(content), "redacted": dict(tally.counts), **gaps}

    def _harmless(self, content: dict[str, JsonValue], tool: Tool) -> dict[str, JsonValue]:
        """An error may name what the caller or a log said. No service is asked: it may be what failed."""
        try:
            return redact_answer(content, replace(self.redactor, inquiry=None))[0]
        except Exception as error:  # noqa: BLE001  # the door
            return failure(error, tool.name)


def _workload_answer(whole: BaseModel, tool: Tool, request: WorkloadArgs, limit: int | None) -> dict[str, Any]:
    if not isinstance(whole, Answer):
        raise InvariantBroken(f"{tool.name} answers with {type(whole).__name__}")
    answer, cut = fitted(whole, tool.name, request, MAX_BYTES if limit is None else limit)
    return {**wire(answer), **cut}


def _without_links(answer: dict[str, JsonValue], scopes: frozenset[AccessScope]) -> dict[str, JsonValue]:
    if AccessScope.FILES in scopes:
        return answer
    return {name: value for name, value in answer.items() if name not in _LINKS}


def _with_short_excerpts(content: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """An excerpt never has more characters than promised, also where a marker is longer than what it hides."""
    return {name: _short(name, value) for name, value in content.items()}


def _short(name: str, value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return value[:EXCERPT_CHARACTERS] if name == "excerpt" else value
    if isinstance(value, Mapping):
        return {inner: _short(inner, each) for inner, each in value.items()}
    if isinstance(value, Sequence):
        return [_short(name, each) for each in value]
    return value


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


def _out_of_scope(tool: Tool) -> dict[str, JsonValue]:
    return shape(403, f"this token may not use {tool.name}", f"ask for a token with the scope {tool.scope}")


def _instance(arguments: Mapping[str, Any]) -> str | None:
    """Whom a call is about, for its span: what a caller says is not believed to be a name before it looks like one."""
    named = arguments.get("instanceId") or arguments.get("logKey")
    if isinstance(named, str):
        return instance_in(named[:_LONGEST_NAMED])
    function = arguments.get("lambda_name")
    return function if isinstance(function, str) and re.fullmatch(FUNCTION, function) else None
