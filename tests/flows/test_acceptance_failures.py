"""When tools or chat model cannot be reached: the incident says why, keeps its evidence, and runs again when it can."""

import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from tests.support.acceptance import Scene, scene

from affidavit.incidents.state import Status
from affidavit.sandbox.incident_path import answers, free_port


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Without servers: each test starts the ones that its failure needs."""
    with scene(tmp_path_factory.mktemp("sandbox"), has_servers=False) as made:
        # Requests are counted here, so no alarm may bring an incident of its own.
        made.client("cloudwatch").disable_alarm_actions(AlarmNames=made.path.seeded.alarms)
        yield made


@pytest.fixture(scope="module")
def mcp_port(here: Scene) -> Iterator[int]:
    port = free_port()
    with here.path.mcp_server(port) as server:
        server.wait_until(lambda: answers(port))
        yield port


@pytest.fixture
def broken(here: Scene) -> Iterator[Scene]:
    here.breaks("revoke s3")
    assert here.runs() == ["failed"]
    yield here
    here.heal()


def url(port: int) -> str:
    return f"http://127.0.0.1:{port}/mcp"


class Listener:
    """Counts connections. The first ones are not served: reset, or left in silence."""

    def __init__(self, *, unserved: int, in_silence: bool, upstream: int = 0) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._unserved, self._in_silence, self._upstream = unserved, in_silence, upstream
        self._kept: list[socket.socket] = []
        self.connections = 0

    @property
    def port(self) -> int:
        return self._socket.getsockname()[1]

    def serve(self) -> None:
        with suppress(OSError):
            while True:
                inside, _ = self._socket.accept()
                self.connections += 1
                if self.connections > self._unserved:
                    self._join(inside)
                elif self._in_silence:
                    self._kept.append(inside)
                else:
                    inside.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    inside.close()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for one in self._kept:
            one.close()

    def _join(self, inside: socket.socket) -> None:
        outside = socket.create_connection(("127.0.0.1", self._upstream))
        for pair in ((inside, outside), (outside, inside)):
            threading.Thread(target=_pump, args=pair, daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_RDWR)


@contextmanager
def listening(listener: Listener) -> Iterator[Listener]:
    threading.Thread(target=listener.serve, daemon=True).start()
    yield listener
    listener.close()


def test_with_the_mcp_server_stopped_it_is_an_error_that_is_tried_again_and_diagnosed_once_the_port_opens(
    broken: Scene, mcp_port: int
) -> None:
    with broken.path.supervisor(MCP_SERVER_URL=url(free_port())):
        state, context = broken.ended(named=broken.publish())
    assert (state.status, state.error_category) == (Status.ERROR, "mcp_connection")
    assert state.next_attempt_at is not None
    assert context.diagnosis is None
    again = subprocess.run(
        [sys.executable, "-m", "affidavit", "incident", "redrive", state.incident.incident_id],
        env={"PATH": "", "NO_COLOR": "1", **broken.path.environment, "MCP_SERVER_URL": url(mcp_port)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert again.returncode == 0, again.stdout + again.stderr
    assert "s3:GetObject" in again.stdout


def test_a_port_that_is_dead_at_first_costs_a_retry_and_not_the_incident(broken: Scene, mcp_port: int) -> None:
    with (
        listening(Listener(unserved=1, in_silence=False, upstream=mcp_port)) as gate,
        broken.path.supervisor(MCP_SERVER_URL=url(gate.port)),
    ):
        state, context = broken.ended(named=broken.publish())
    assert state.status is Status.DIAGNOSED, (state.error_reason, broken.log())
    assert state.attempts == 1
    assert context.diagnosis is not None
    assert "s3:GetObject" in context.diagnosis.root_cause


def test_a_chat_model_that_denies_us_is_asked_once_and_the_evidence_is_kept(here: Scene, mcp_port: int) -> None:
    model = "anthropic.claude-denied"
    with here.path.supervisor(MCP_SERVER_URL=url(mcp_port), CHAT_MODEL_ID=model):
        state, context = here.ended(named=here.publish())
    assert (state.status, state.error_category) == (Status.ERROR, "bedrock_auth")
    assert (state.attempts, state.next_attempt_at) == (1, None)
    assert len([request for request in here.bedrock.requests if request.model_id == model]) == 1
    tools = {entry.tool for entry in here.supervisor.records.entries(context.ledger)}
    assert tools == {"get_recent_logs", "get_iam_state", "get_lambda_config", "get_network_state"}


@pytest.mark.long
def test_a_black_hole_costs_two_timeouts_and_ends_as_an_error(here: Scene) -> None:
    started = time.monotonic()
    with (
        listening(Listener(unserved=1_000, in_silence=True)) as hole,
        here.path.supervisor(MCP_SERVER_URL=url(hole.port)),
    ):
        state, context = here.ended(named=here.publish())
    assert (state.status, state.error_category) == (Status.ERROR, "mcp_connection")
    assert state.attempts == 1
    assert context.diagnosis is None
    # Two of the investigation, one for evidence without a chat model. Each waited its ten seconds out.
    assert hole.connections == 3
    assert time.monotonic() - started >= 20
