"""When tools or chat model cannot be reached: the incident says why, keeps its evidence, and runs again when it can."""

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.support.investigations.acceptance import PATIENCE_SECONDS, Scene, scene

from affidavit.agent.subjects.function import FUNCTION as SUBJECT
from affidavit.evidence.diagnosis import ProducedBy
from affidavit.incidents.store.incident_leases import LEASE_MARGIN
from affidavit.incidents.store.state import Status
from affidavit.sandbox.account.function_account import FUNCTION
from affidavit.sandbox.chat_models.attacks import attack
from affidavit.sandbox.chat_models.service_failures import FAILING
from affidavit.sandbox.incident_pipeline import answers, free_port
from affidavit.verification.pointer_check import verify

pytestmark = pytest.mark.slow

# A process as AWS starts it: an event, and a context that says how long it may live.
LAMBDA_WITH_A_MINUTE = """
import json, sys, time
from affidavit.entrypoints.lambdas import on_incident

class Context:
    started = time.monotonic()

    invoked_function_arn = ""

    def get_remaining_time_in_millis(self):
        return int(60_000 - (time.monotonic() - self.started) * 1000)

on_incident.handler(json.load(sys.stdin), Context())
"""


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


class BlackHole:
    """Takes every connection and says nothing."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._kept: list[socket.socket] = []

    @property
    def port(self) -> int:
        return self._socket.getsockname()[1]

    @property
    def connections(self) -> int:
        return len(self._kept)

    def swallow(self) -> None:
        with suppress(OSError):
            while True:
                self._kept.append(self._socket.accept()[0])

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for one in self._kept:
            one.close()


@contextmanager
def black_hole() -> Iterator[BlackHole]:
    hole = BlackHole()
    threading.Thread(target=hole.swallow, daemon=True).start()
    yield hole
    hole.close()


def refuses(port: int) -> bool:
    """Nobody listens there: the kernel itself says no."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED


class Retries:
    """What the supervisor's log says, from now on, of attempts that are made again."""

    def __init__(self, log: Path) -> None:
        self._log, self._start = log, log.stat().st_size if log.exists() else 0

    def told(self, of: str) -> list[str]:
        lines = self._log.read_bytes()[self._start :].decode().splitlines()
        return [line for line in lines if of in line and "trying again in" in line]

    def wait(self, of: str) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self.told(of):
            assert time.monotonic() < deadline, "no attempt failed"
            time.sleep(0.02)


@contextmanager
def frozen(process: int) -> Iterator[None]:
    """It sleeps on through its pause, however long the machine needs for what happens meanwhile."""
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


def test_with_the_mcp_server_stopped_it_is_an_error_that_is_tried_again_and_diagnosed_once_the_port_opens(
    broken: Scene, mcp_port: int
) -> None:
    port, retries = free_port(), Retries(broken.path.folder / "supervisor.log")
    with broken.path.supervisor(MCP_SERVER_URL=url(port)):
        state, context = broken.ended(named=broken.publish())
    assert refuses(port)
    assert (state.status, state.error_category) == (Status.ERROR, "mcp_connection")
    assert len(retries.told(of=state.incident.incident_id)) == 1, "two attempts, and a pause between them"
    assert state.updated_at - state.created_at >= timedelta(seconds=2)
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


def test_a_port_that_opens_after_the_first_refusal_costs_a_pause_and_not_the_incident(broken: Scene) -> None:
    port, retries = free_port(), Retries(broken.path.folder / "supervisor.log")
    with broken.path.supervisor(MCP_SERVER_URL=url(port)) as supervisor:
        name = broken.publish()
        retries.wait(of=name)
        assert refuses(port)
        assert supervisor.pid is not None
        with ExitStack() as stack:
            with frozen(supervisor.pid):
                server = stack.enter_context(broken.path.mcp_server(port))
                server.wait_until(lambda: answers(port))
            state, context = broken.ended(named=name)
    assert state.status is Status.DIAGNOSED, (state.error_reason, broken.log())
    assert state.attempts == 1
    (told,) = retries.told(of=name)
    assert "[mcp_connection]" in told
    assert told.endswith("trying again in 2 s")
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
    assert tools == {
        "get_recent_logs",
        "get_iam_state",
        "get_lambda_config",
        "get_network_state",
        "get_recent_changes",
    }


def test_of_a_lying_chat_model_nothing_is_stored_that_does_not_verify(broken: Scene, mcp_port: int) -> None:
    """One lie here, from process to process; all kinds of them are told in `test_agent_attacks`."""
    model = "anthropic.claude-lying"
    broken.bedrock.scripts = {**FAILING, "lying": attack("right-tool-wrong-value", 0)}
    with broken.path.supervisor(MCP_SERVER_URL=url(mcp_port), CHAT_MODEL_ID=model):
        state, context = broken.ended(named=broken.publish())
    sent_back = [one for one in context.reasoning_chain if "The diagnosis does not hold" in str(one["content"])]
    assert len(sent_back) == 3, "two corrections, and one lie too many"
    assert state.status is Status.DIAGNOSED, state.error_reason
    assert context.diagnosis is not None
    assert context.diagnosis.produced_by is ProducedBy.RULES
    assert verify(context.diagnosis, broken.supervisor.records.entries(context.ledger)).holds


def test_a_hung_chat_model_ends_twenty_seconds_before_the_limit_with_the_evidence_stored(
    broken: Scene, mcp_port: int
) -> None:
    """The function's limit is a minute, so that nobody waits for five; every other limit is the real one."""
    model, name = "anthropic.claude-hung", f"hung-{uuid.uuid4().hex[:12]}"
    report = {"function_name": FUNCTION, "incident_id": name, "error_message": "AccessDenied"}
    subprocess.run(
        [sys.executable, "-c", LAMBDA_WITH_A_MINUTE],
        input=json.dumps({"Records": [{"Sns": {"MessageId": name, "Message": json.dumps(report)}}]}),
        env={"PATH": "", **broken.path.environment, "MCP_SERVER_URL": url(mcp_port), "CHAT_MODEL_ID": model},
        text=True,
        timeout=120,
        check=True,
    )
    state, context = broken.ended(named=name)
    (asked,) = [request for request in broken.bedrock.requests if request.model_id == model]
    assert asked.forced_tool == "submit_diagnosis", "with less than 90 s left the answer is asked for at once"
    limit = datetime.fromtimestamp(state.lease_expires_at, UTC) - LEASE_MARGIN
    assert timedelta(seconds=20) <= limit - state.updated_at <= timedelta(seconds=35)
    entries = broken.supervisor.records.entries(context.ledger)
    assert {entry.tool for entry in entries} == set(SUBJECT.unprompted)
    assert state.status is Status.DIAGNOSED
    assert context.diagnosis is not None
    assert context.diagnosis.produced_by is ProducedBy.RULES
    assert any("deadline" in gap for gap in context.diagnosis.gaps)
    assert verify(context.diagnosis, entries).holds


def test_a_black_hole_costs_two_timeouts_and_ends_as_an_error(here: Scene) -> None:
    started = time.monotonic()
    with (
        black_hole() as hole,
        here.path.supervisor(MCP_SERVER_URL=url(hole.port)),
    ):
        state, context = here.ended(named=here.publish())
    assert (state.status, state.error_category) == (Status.ERROR, "mcp_connection")
    assert state.attempts == 1
    assert context.diagnosis is None
    # Two of the investigation, one for evidence without a chat model. Each waited its ten seconds out.
    assert hole.connections == 3
    assert time.monotonic() - started >= 20
