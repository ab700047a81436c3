"""What a node's incident costs, from its alarm to a stored diagnosis: time, calls and bytes over the network.

The Lambda functions run in this process, one after the other, against the sandbox. Calls and bytes do not depend on how
busy the machine is; times do.
"""

import io
import json
import os
import statistics
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import urllib3
from tests.support.investigations.node_incidents import alarm

from affidavit.entrypoints.lambdas import on_bundle_uploaded, on_incident
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.intake.event_reader import bundle_news
from affidavit.incidents.store.state import Status
from affidavit.sandbox.account.nodes import FleetNode
from affidavit.sandbox.aws.automation import Conduct, archive_key
from affidavit.sandbox.sandbox import Sandbox
from benchmarks.cases import Result

FAULTS = ("oom", "cni_failure")
MOST = {"calls": 600}
"""So many calls at most: each costs money and time, and none may come back unseen."""
STEPS = ("alert taken", "bundle indexed", "diagnosed")


@dataclass
class Traffic:
    """Requests of this process, by the step that makes them. What the sandbox's own threads send is not ours."""

    calls: Counter[str] = field(default_factory=Counter[str])
    sent: Counter[str] = field(default_factory=Counter[str])
    received: Counter[str] = field(default_factory=Counter[str])
    step: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, sent: int, received: int) -> None:
        with self._lock:
            self.calls[self.step] += 1
            self.sent[self.step] += sent
            self.received[self.step] += received


class Context:
    invoked_function_arn = ""

    def get_remaining_time_in_millis(self) -> int:
        return 300_000


def node_incident(rounds: int) -> Iterator[Result]:
    """Each round is another node. The first one loads the rules, as a cold start does, and is not counted."""
    with tempfile.TemporaryDirectory() as folder, Sandbox(Path(folder)) as sandbox, _pointed(sandbox):
        runs = [_run(sandbox, number) for number in range(rounds + 1)][1:]
    seconds = [sum(times.values()) for times, _ in runs]
    yield _shown("node incident, alarm to diagnosis, p50", statistics.median(seconds), "s")
    yield _shown("node incident, alarm to diagnosis, p95", _percentile(seconds, 0.95), "s")
    for name, unit, read in _READINGS:
        totals = [sum(read(traffic).values()) for _, traffic in runs]
        yield _shown(f"node incident, {name}, p95", _percentile(totals, 0.95), unit, most=MOST.get(name))
    for step in STEPS:
        yield _shown(f"  {step}: time, p50", statistics.median(one[step] for one, _ in runs), "s")
        for name, unit, read in _READINGS:
            values = [read(traffic)[step] for _, traffic in runs]
            yield _shown(f"  {step}: {name}, p95", _percentile(values, 0.95), unit)


def _shown(name: str, value: float, unit: str, *, most: float | None = None) -> Result:
    return Result(name=name, value=value, target=most, better="lower", unit=unit)


_READINGS: tuple[tuple[str, str, Callable[[Traffic], Counter[str]]], ...] = (
    ("calls", "", lambda traffic: traffic.calls),
    ("sent", "B", lambda traffic: traffic.sent),
    ("received", "B", lambda traffic: traffic.received),
)


def _run(sandbox: Sandbox, number: int) -> tuple[dict[str, float], Traffic]:
    node = FleetNode(instance_id=f"i-0be4c0000{number:08x}", faults=FAULTS)
    sandbox.fleet.add(node)
    sandbox.automation.conduct(node.instance_id, Conduct(step_seconds=0.0))
    times, traffic = dict[str, float](), Traffic()
    with _counted(traffic):
        steps = (lambda: _deliver(alarm(node)), lambda: _index(node), lambda: _deliver(bundle_news(node.instance_id)))
        for name, step in zip(STEPS, steps, strict=True):
            if name == STEPS[1]:
                _await_archive(sandbox, node)
            traffic.step, started = name, time.perf_counter()
            with redirect_stdout(io.StringIO()):
                done = step()
            times[name] = time.perf_counter() - started
    _check(done, sandbox, node)
    return times, traffic


def _check(done: Any, sandbox: Sandbox, node: FleetNode) -> None:
    name = json.loads(done["body"])[0]["incident_id"]
    state = on_incident.application("")[1].states.get_state(IncidentId(name))
    assert state is not None
    assert state.status is Status.DIAGNOSED
    assert len(sandbox.automation.runs_of(node.instance_id)) == 1


def _deliver(message: Any) -> Any:
    text = message if isinstance(message, str) else json.dumps(message)
    event = {"Records": [{"Sns": {"MessageId": uuid.uuid4().hex, "Message": text}}]}
    return on_incident.handler(event, Context())


def _index(node: FleetNode) -> Any:
    record = {
        "userIdentity": {"principalId": f"AWS:AROAEXAMPLE1:{node.instance_id}"},
        "s3": {"object": {"key": archive_key(node.instance_id)}},
    }
    event = {"Records": [{"messageId": "m", "body": json.dumps({"Records": [record]})}]}
    return on_bundle_uploaded.handler(event, None)


def _await_archive(sandbox: Sandbox, node: FleetNode) -> None:
    while not any(run.status == "Success" for run in sandbox.automation.runs_of(node.instance_id)):
        time.sleep(0.01)


def _percentile(values: list[Any], part: float) -> float:
    ordered = sorted(values)
    return float(ordered[min(len(ordered) - 1, round(part * (len(ordered) - 1)))])


@contextmanager
def _pointed(sandbox: Sandbox) -> Generator[None]:
    before = dict(os.environ)
    os.environ.update({**sandbox.environment, "CHAT_PROVIDER": "offline", "MAX_INCIDENTS_PER_HOUR": "500"})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _counted(traffic: Traffic) -> Generator[None]:
    """AWS's client and that of Kubernetes both send by urllib3."""
    plain = urllib3.HTTPConnectionPool.urlopen

    def urlopen(pool: Any, method: str, url: str, body: Any = None, *rest: Any, **named: Any) -> Any:
        answer: Any = plain(pool, method, url, body, *rest, **named)
        is_the_nodes = method == "PUT" and url.endswith("_eks-log-collector.tar.gz")
        if not is_the_nodes:
            # The length in the answer to a HEAD is of what a GET would bring.
            came = 0 if method == "HEAD" else int(answer.headers.get("content-length") or 0)
            traffic.note(_size(body), came)
        return answer

    urllib3.HTTPConnectionPool.urlopen = urlopen  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield
    finally:
        urllib3.HTTPConnectionPool.urlopen = plain


def _size(body: Any) -> int:
    if body is None:
        return 0
    if isinstance(body, str | bytes | bytearray):
        return len(body)
    return int(getattr(body, "_size", 0) or getattr(body, "__len__", lambda: 0)())
