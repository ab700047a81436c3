"""Amazon Bedrock's Converse on this machine: real HTTP, scripted chat models, and the service's own refusals.

A script is a function from a request to a reply; the last part of a model id picks it (`anthropic.claude-good`). Like
the service, the simulator refuses a conversation that leaves a tool call unanswered: a test that passes here would not
break there.
"""

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, TypeAlias
from urllib.parse import unquote

from affidavit.sandbox.access.browser_refusal import refuse_browsers
from affidavit.sandbox.access.keys import SandboxKeys
from affidavit.sandbox.access.request_head import REFUSED_STATUS, RequestHead, RequestRefused
from affidavit.sandbox.access.signatures import refuse_unsigned
from affidavit.sandbox.processes.start_stop_context import StartsAndStops

Json: TypeAlias = dict[str, Any]
PREFIX = "anthropic.claude-"
MOST_CACHE_POINTS = 4


@dataclass(frozen=True, kw_only=True)
class ConverseRequest:
    """What arrived. `number` counts the requests of this script from 1."""

    model_id: str
    number: int
    body: Json

    @property
    def messages(self) -> list[Json]:
        return self.body["messages"]

    @property
    def tools(self) -> list[str]:
        return [tool["toolSpec"]["name"] for tool in self._tool_config.get("tools", []) if "toolSpec" in tool]

    @property
    def cache_points(self) -> int:
        blocks: list[Json] = [block for message in self.messages for block in message["content"]]
        placed = (*self.body.get("system", ()), *self._tool_config.get("tools", ()), *blocks)
        return sum("cachePoint" in block for block in placed)

    @property
    def forced_tool(self) -> str | None:
        choice: Json = self._tool_config.get("toolChoice") or {}
        return choice["tool"]["name"] if "tool" in choice else None

    @property
    def _tool_config(self) -> Json:
        return self.body.get("toolConfig") or {}


@dataclass(frozen=True, kw_only=True)
class ScriptedText:
    """An assistant turn: text, and tool calls as (name, input)."""

    text: str = ""
    calls: Sequence[tuple[str, Any]] = ()
    input_tokens: int = 400
    output_tokens: int = 60
    after_seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Refuses:
    status: int
    code: str
    message: str = "refused by script"


@dataclass(frozen=True, kw_only=True)
class Hangs:
    """Reads the request and says nothing, until the simulator stops."""


@dataclass(frozen=True, kw_only=True)
class Resets:
    """Closes the connection with a TCP reset."""


@dataclass(frozen=True, kw_only=True)
class ScriptedAnswers:
    """Bytes as they are, for answers the service would never give."""

    body: bytes
    status: int = 200


Reply: TypeAlias = ScriptedText | Refuses | Hangs | Resets | ScriptedAnswers
Script: TypeAlias = Callable[[ConverseRequest], Reply]


@dataclass
class BedrockSimulator(StartsAndStops):
    """Serves scripts on a free port of 127.0.0.1 while entered. `requests` keeps all that came.

    With `keys`, which the sandbox sets, it answers only requests that are signed with them.
    """

    scripts: Mapping[str, Script]
    requests: list[ConverseRequest] = field(default_factory=list[ConverseRequest])
    port: int = 0
    keys: SandboxKeys | None = None

    def __post_init__(self) -> None:
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        if self._server is None:
            raise RuntimeError("the simulator is not started")
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> Self:
        simulator = self

        class Handler(_Handler):
            owner = simulator

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def stop(self) -> None:
        self.stopping.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def reply_to(self, model_id: str, body: Json) -> Reply:
        script = self.scripts.get(model_id.removeprefix(PREFIX))
        if script is None:
            return Refuses(status=404, code="ResourceNotFoundException", message=f"no model {model_id}")
        if (trouble := trouble_of(body)) is not None:
            return Refuses(status=400, code="ValidationException", message=trouble)
        if ConverseRequest(model_id=model_id, number=0, body=body).cache_points > MOST_CACHE_POINTS:
            return Refuses(status=400, code="ValidationException", message="too many cache points")
        with self._lock:
            number = 1 + sum(1 for earlier in self.requests if earlier.model_id == model_id)
            request = ConverseRequest(model_id=model_id, number=number, body=body)
            self.requests.append(request)
        return script(request)


def trouble_of(body: Json) -> str | None:
    """Why Converse would refuse these messages, or None."""
    messages: list[Json] = body.get("messages") or []
    if not messages or messages[0].get("role") != "user":
        return "A conversation must start with a user message."
    open_ids: set[str] = set()
    for number, message in enumerate(messages):
        content: list[Json] = message.get("content") or []
        if not content:
            return f"messages.{number}: content is empty"
        if number and message["role"] == messages[number - 1]["role"]:
            return f"messages.{number}: roles must alternate"
        answered = [block["toolResult"]["toolUseId"] for block in content if "toolResult" in block]
        if len(answered) != len(set(answered)) or set(answered) != open_ids:
            return f"messages.{number}: tool results {sorted(answered)} do not answer tool uses {sorted(open_ids)}"
        if (trouble := _trouble_of_blocks(number, content)) is not None:
            return trouble
        open_ids = {block["toolUse"]["toolUseId"] for block in content if "toolUse" in block}
    return "messages: the last tool uses have no results" if open_ids else None


def _trouble_of_blocks(number: int, content: Sequence[Json]) -> str | None:
    for block in content:
        if "toolResult" in block and not block["toolResult"].get("content"):
            return f"messages.{number}: a tool result has no content"
        if "text" in block and not str(block["text"]).strip():
            return f"messages.{number}: text content blocks must be non-empty"
        if "toolUse" in block and not isinstance(block["toolUse"].get("input"), dict):
            return f"messages.{number}: tool use input must be an object"
    return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: BedrockSimulator
    # Else the body waits for the receipt of the head: 40 ms for every answer.
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass

    def do_POST(self) -> None:
        read = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            self._admit(read)
        except RequestRefused as refusal:
            self._send(REFUSED_STATUS, {"message": refusal.reason}, code=refusal.code)
            return
        body = json.loads(read or b"{}")
        parts = unquote(self.path).strip("/").split("/")
        if len(parts) != 3 or parts[0] != "model" or parts[2] != "converse":
            self._send(404, {"message": f"no operation at {self.path}"}, code="UnknownOperationException")
            return
        self._deliver(self.owner.reply_to(parts[1], body))

    def _admit(self, body: bytes) -> None:
        headers = tuple((name.lower(), value) for name, value in self.headers.items())
        head = RequestHead(method=self.command, target=self.path, headers=headers)
        refuse_browsers(head)
        if self.owner.keys is not None:
            refuse_unsigned(head, body, self.owner.keys)

    def _deliver(self, reply: Reply) -> None:
        match reply:
            case ScriptedText():
                self.owner.stopping.wait(reply.after_seconds)
                self._send(200, _turn(reply))
            case Refuses():
                self._send(reply.status, {"message": reply.message}, code=reply.code)
            case Hangs():
                self.owner.stopping.wait()
                self.close_connection = True
            case Resets():
                # Linger of zero turns the close into a reset.
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
                self.close_connection = True
            case ScriptedAnswers():
                self._send_bytes(reply.status, reply.body)

    def _send(self, status: int, body: Json, *, code: str | None = None) -> None:
        self._send_bytes(status, json.dumps(body).encode(), code=code)

    def _send_bytes(self, status: int, body: bytes, *, code: str | None = None) -> None:
        try:
            self.send_response(status)
            if code is not None:
                self.send_header("x-amzn-errortype", code)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:  # the caller gave up, as callers of slow chat models do
            self.close_connection = True

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            self.close_connection = True

    def finish(self) -> None:
        try:
            super().finish()
        except (OSError, ValueError):
            self.close_connection = True


def _turn(said: ScriptedText) -> Json:
    calls = [
        {"toolUse": {"toolUseId": f"tooluse_{time.monotonic_ns()}_{place}", "name": name, "input": given}}
        for place, (name, given) in enumerate(said.calls)
    ]
    text = [{"text": said.text}] if said.text or not calls else []
    return {
        "output": {"message": {"role": "assistant", "content": [*text, *calls]}},
        "stopReason": "tool_use" if calls else "end_turn",
        "usage": {
            "inputTokens": said.input_tokens,
            "outputTokens": said.output_tokens,
            "totalTokens": said.input_tokens + said.output_tokens,
        },
        "metrics": {"latencyMs": int(said.after_seconds * 1000)},
    }
