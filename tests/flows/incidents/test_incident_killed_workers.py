"""Acceptance 11 between processes: a worker is killed at each of its requests that have an effect, over real HTTP.

What others can see of a worker is which of its requests took effect. So it is killed once before each of them, by
SIGKILL from outside. Calls inside one process, reads among them, are swept in `test_incident_sigkill`.
"""

import json
import os
import signal
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from typing import Any

import pytest
from tests.support.clock import ClockAhead
from tests.support.investigations.acceptance import Scene, scene
from tests.support.peers.relay import Relay, Requests
from tests.support.processes.workers import Workers, workers
from tests.support.storms import IS_FULL

from affidavit.incidents.incident import IncidentId
from affidavit.incidents.intake.delivery_handling import deliver
from affidavit.incidents.store.incident_leases import IncidentStates
from affidavit.incidents.store.state import Status
from affidavit.incidents.supervisor import Supervisor
from affidavit.sandbox.account.function_account import FUNCTION
from affidavit.sandbox.incident_pipeline import answers
from affidavit.verification.pointer_check import verify

REMAINING = timedelta(minutes=5)
WRITES = ("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems")


@dataclass(frozen=True, kw_only=True)
class Worked:
    """A scene whose workers reach everything through relays."""

    scene: Scene
    relays: list[Relay]
    workers: Workers

    def work(self, name: str, *, killed_at: int | None = None) -> tuple[int, Requests]:
        """How the worker of this incident ended, and what it asked for."""
        process: Future[int] = Future()
        requests = Requests(at=killed_at, act=lambda: os.kill(process.result(30), signal.SIGKILL))
        for relay in self.relays:
            relay.requests = requests
        process.set_result(self.workers.start(event(name)))
        return self.workers.wait(), requests

    @property
    def chat_calls(self) -> int:
        return len(self.scene.bedrock.requests)


def event(name: str) -> dict[str, Any]:
    report = {"function_name": FUNCTION, "incident_id": name, "error_message": "AccessDenied"}
    return {"Records": [{"Sns": {"MessageId": name, "Message": json.dumps(report)}}]}


def name_of_write(path: str, headers: Any, body: bytes) -> str | None:
    target = str(headers.get("x-amz-target", "")).rpartition(".")[2]
    if not target and body and "/incidents/" in path:
        return f"object {path.split('/')[-2]}"
    return f"write {target}" if target in WRITES else None


def name_of_call(_path: str, _headers: Any, body: bytes) -> str | None:
    return "tool" if b'"tools/call"' in body else None


@pytest.fixture
def worked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worked]:
    with scene(tmp_path_factory.mktemp("sandbox"), has_servers=False) as here:
        here.breaks("revoke s3")
        assert here.runs() == ["failed"]
        environment, port = here.path.environment, here.path.mcp_port
        stores = Relay(environment["AWS_ENDPOINT_URL"], name_of_write)
        chat = Relay(environment["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"], lambda *_: "chat")
        tools = Relay(f"http://127.0.0.1:{port}", name_of_call)
        environment |= {
            "AWS_ENDPOINT_URL": stores.url,
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": chat.url,
            "MCP_SERVER_URL": f"{tools.url}/mcp",
        }
        relays = [stores, chat, tools]
        with here.path.mcp_server() as server, workers(environment, here.path.folder / "workers.log") as made:
            server.wait_until(lambda: answers(port))
            yield Worked(scene=here, relays=relays, workers=made)
        for relay in relays:
            relay.close()


def later(supervisor: Supervisor) -> Supervisor:
    states = IncidentStates(supervisor.states.table, ClockAhead(timedelta(minutes=11)))
    # One for all: making a client of Bedrock takes longer than most of these runs.
    return replace(
        supervisor,
        clock=ClockAhead(timedelta(minutes=11)),
        states=states,
        diagnostician=cache(supervisor.diagnostician),
    )


@pytest.mark.slow
def test_killed_before_any_effect_an_incident_ends_once_and_asks_at_most_once_more(worked: Worked) -> None:
    before = worked.chat_calls
    ended, undisturbed = worked.work(f"undisturbed-{uuid.uuid4().hex[:8]}")
    normal = worked.chat_calls - before
    assert ended == 0
    assert normal >= 2
    assert {name.split()[0] for name in undisturbed.names} == {"write", "object", "chat", "tool"}
    assert {"object answers", "object progress", "object chain"} <= set(undisturbed.names)
    supervisor = later(worked.scene.supervisor)
    for number, what in chosen(undisturbed.names):
        _killed_and_recovered(worked, supervisor, number, what, normal)


def chosen(names: Sequence[str]) -> list[tuple[int, str]]:
    """The first request of each kind and the last of all, by its place; in full every one. Every boundary of the flow
    in one process is in `test_incident_sigkill.py`."""
    places = [*enumerate(names)]
    first = {what: place for place, what in reversed(places)}
    return [(place, what) for place, what in places if IS_FULL or place in (first[what], len(names) - 1)]


def _killed_and_recovered(worked: Worked, supervisor: Supervisor, number: int, what: str, normal: int) -> None:
    name, before, where = f"killed-{number}-{uuid.uuid4().hex[:8]}", worked.chat_calls, f"{number} {what}"
    assert worked.work(name, killed_at=number)[0] == -signal.SIGKILL, where
    (delivered,) = deliver(event(name), supervisor, worked.scene.app.objects, remaining=REMAINING)
    state = supervisor.states.get_state(IncidentId(name))
    context = supervisor.contexts.get_context(IncidentId(name))
    assert state is not None, where
    assert state.status is Status.DIAGNOSED, (where, delivered, state.error_reason)
    assert context is not None, where
    assert context.diagnosis is not None, where
    assert verify(context.diagnosis, supervisor.records.entries(context.ledger)).holds, where
    assert worked.chat_calls - before <= normal + 1, where
