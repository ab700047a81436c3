"""`/hooks/{source}` over real HTTP: who may post, what is stored, what is refused."""

import base64
import hashlib
import hmac
import json
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from tests.support.investigations.incidents import Bench, a_bench, memory_folder

from affidavit.entrypoints.http.hooks.app import MOST_BODY_BYTES, Hooks, beside, hooks_app
from affidavit.entrypoints.http.rate_limit import RequestRates
from affidavit.incidents.intake.hooks.readers import HookSource
from affidavit.incidents.reception import Reception
from affidavit.incidents.store.state import Lease, Status
from affidavit.incidents.supervisor import Supervisor
from affidavit.wire.body_signature import signature_headers

SECRET = "0123456789abcdef0123456789abcdef"
REPORT = {"function_name": "data-processor", "incident_id": "inc-9", "error": "it fails"}


class Served:
    def __init__(self, folder: Path) -> None:
        self.bench: Bench = a_bench(folder)
        self.started: list[Lease] = []
        made = {one.name: getattr(self.bench.supervisor, one.name) for one in fields(Supervisor)}
        self.hooks = Hooks(
            secrets=dict.fromkeys(HookSource, SECRET),
            reception=Reception(**made, start=self.started.append),
            quarantine=self.bench.objects,
            rates=RequestRates(20),
        )
        self._socket = socket.create_server(("127.0.0.1", 0))
        main = PlainTextResponse("the main application")
        config = uvicorn.Config(beside(main, hooks_app(self.hooks)), log_level="error", lifespan="off")
        self.server = uvicorn.Server(config)
        threading.Thread(target=self.server.run, args=([self._socket],), daemon=True).start()
        while not self.server.started:
            time.sleep(0.01)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def post(self, source: str, body: Any, **headers: str) -> tuple[int, Any]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(f"{self.url}/hooks/{source}", data=data, headers=named, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def signed(self, body: Any) -> tuple[int, Any]:
        data = json.dumps(body).encode()
        return self.post("generic", data, **signature_headers(SECRET, data, at=self.bench.clock.now()))


@pytest.fixture
def served() -> Iterator[Served]:
    with memory_folder() as folder:
        made = Served(folder)
        yield made
        made.server.should_exit = True


def test_an_alert_is_stored_before_the_answer_and_run_by_somebody_else(served: Served) -> None:
    status, answer = served.signed(REPORT)
    assert (status, answer) == (202, {"alerts": [{"incident_id": "inc-9", "outcome": "stored"}]})
    state = served.bench.states.get_state("inc-9")
    assert state is not None
    assert state.status is Status.RECEIVED
    assert served.bench.scripted.runs == []
    (lease,) = served.started
    served.bench.supervisor.resume_stored(lease, remaining=lease.deadline - served.bench.clock.now())
    assert served.bench.scripted.runs == ["inc-9"]


def test_the_same_delivery_a_second_time_is_refused_and_the_same_alert_is_one_incident(served: Served) -> None:
    data = json.dumps(REPORT).encode()
    headers = signature_headers(SECRET, data, at=served.bench.clock.now())
    assert served.post("generic", data, **headers)[0] == 202
    assert served.post("generic", data, **headers)[0] == 409
    status, answer = served.signed({**REPORT, "message": "again"})
    assert (status, answer["alerts"][0]["outcome"]) == (202, "already handled")
    assert len(served.started) == 1


def test_a_delivery_that_could_not_be_stored_is_no_success_and_may_come_again(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = json.dumps(REPORT).encode()
    headers = signature_headers(SECRET, data, at=served.bench.clock.now())
    with monkeypatch.context() as broken:
        broken.setattr(Supervisor, "receive", lambda *_, **__: 1 / 0)
        with pytest.raises((ValueError, AssertionError)):
            assert served.post("generic", data, **headers)[0] < 300
    assert served.post("generic", data, **headers)[0] == 202


@pytest.mark.parametrize("seconds", [-301, 301])
def test_an_old_or_future_signature_is_refused(served: Served, seconds: int) -> None:
    data = json.dumps(REPORT).encode()
    headers = signature_headers(SECRET, data, at=served.bench.clock.now() + timedelta(seconds=seconds))
    assert served.post("generic", data, **headers)[0] == 401


def hexed(body: bytes, secret: str = SECRET) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def test_each_source_is_let_in_by_its_own_proof_and_not_without(served: Served) -> None:
    body = b'{"alerts": []}'
    basic = base64.b64encode(f"prometheus:{SECRET}".encode()).decode()
    stamp = str(int(served.bench.clock.now().timestamp()))
    good: list[tuple[str, dict[str, str]]] = [
        ("alertmanager", {"Authorization": f"Bearer {SECRET}"}),
        ("alertmanager", {"Authorization": f"Basic {basic}"}),
        ("grafana", {"Authorization": f"Bearer {SECRET}"}),
        ("grafana", {"X-Grafana-Alerting-Signature": hexed(body)}),
        ("grafana", {"X-Grafana-Alert-Signature": hexed(body)}),
        (
            "grafana",
            {
                "X-Grafana-Alerting-Signature": hexed(f"{stamp}:".encode() + body),
                "X-Grafana-Alerting-Timestamp": stamp,
            },
        ),
        ("pagerduty", {"X-PagerDuty-Signature": f"v1={'0' * 64},v1={hexed(body)}"}),
    ]
    for source, headers in good:
        assert served.post(source, body, **headers)[0] == 202, (source, headers)
    bad: list[tuple[str, dict[str, str]]] = [
        ("alertmanager", {}),
        ("alertmanager", {"Authorization": "Bearer wrong"}),
        ("alertmanager", {"Authorization": "Basic !!!"}),
        ("grafana", {"X-Grafana-Alerting-Signature": hexed(body, "other")}),
        ("grafana", {"X-Grafana-Alert-Signature": hexed(body, "other")}),
        ("grafana", {"X-Grafana-Alerting-Signature": hexed(b"1:" + body), "X-Grafana-Alerting-Timestamp": "1"}),
        ("pagerduty", {"X-PagerDuty-Signature": f"v1={hexed(body, 'other')}"}),
        ("pagerduty", {"Authorization": f"Bearer {SECRET}"}),
        ("generic", {"Authorization": f"Bearer {SECRET}"}),
    ]
    for source, headers in bad:
        assert served.post(source, body, **headers)[0] == 401, (source, headers)


def a_grafana_delivery(subject: dict[str, str], *, status: str = "firing", starts: str = "2026-01-15T10:00:00Z") -> Any:
    """As Grafana 12 writes it."""
    alert = {
        "status": status,
        "labels": {"alertname": "Errors", "grafana_folder": "prod", **subject},
        "annotations": {"summary": "it fails"},
        "startsAt": starts,
        "endsAt": "0001-01-01T00:00:00Z" if status == "firing" else "2026-01-15T10:20:00Z",
        "generatorURL": "https://grafana.example/alerting/grafana/a/view",
        "fingerprint": "c6eadffa33fcdf37",
        "silenceURL": "",
        "dashboardURL": "",
        "panelURL": "",
        "values": {"A": 1.5, "B": None},
        "valueString": "[ var='A' labels={} value=1.5 ]",
        "orgId": 1,
    }
    return {
        "receiver": "affidavit",
        "status": status,
        "alerts": [alert],
        "groupLabels": {"alertname": "Errors"},
        "commonLabels": alert["labels"],
        "commonAnnotations": {},
        "externalURL": "https://grafana.example/",
        "version": "1",
        "groupKey": "{}:{}",
        "truncatedAlerts": 0,
        "orgId": 1,
        "title": "",
        "state": "alerting",
        "message": "",
    }


FUNCTION_LABEL = {"function_name": "data-processor"}
# The name that nodes named by resource have.
NODE_LABEL = {"node": "i-0a11ce0000000001.ca-central-1.compute.internal"}


def test_a_signed_time_lets_a_delivery_of_grafana_in_once(served: Served) -> None:
    body = json.dumps(a_grafana_delivery(FUNCTION_LABEL)).encode()
    stamp = str(int(served.bench.clock.now().timestamp()))
    signature = hexed(f"{stamp}:".encode() + body)
    headers = {"X-Grafana-Alerting-Signature": signature, "X-Grafana-Alerting-Timestamp": stamp}
    answers = [served.post("grafana", body, **headers) for _ in range(2)]
    assert [status for status, _ in answers] == [202, 409]
    assert served.post("grafana", body, **{"X-Grafana-Alerting-Signature": signature})[0] == 401, "without its time"
    assert len(served.started) == 1


@pytest.mark.parametrize("subject", [FUNCTION_LABEL, NODE_LABEL], ids=["function", "node"])
def test_replays_without_a_signed_time_open_nothing_twice_and_end_nothing_newer(
    served: Served, subject: dict[str, str]
) -> None:
    def post(**how: str) -> dict[str, str]:
        body = json.dumps(a_grafana_delivery(subject, **how)).encode()
        return served.post("grafana", body, **{"X-Grafana-Alerting-Signature": hexed(body)})[1]["alerts"][0]

    def is_over(incident: str) -> bool:
        state = served.bench.states.get_state(incident)
        assert state is not None
        return state.resolved_at is not None

    first = post()["incident_id"]
    served.bench.supervisor.resume_stored(served.started[0], remaining=timedelta(minutes=5))
    post(status="resolved")
    assert is_over(first)
    assert post() == {"incident_id": first, "outcome": "already handled"}
    second = post(starts="2026-01-15T10:30:00Z")["incident_id"]
    assert second != first
    post(status="resolved")
    assert not is_over(second), "the word about the first alert says nothing of the second"
    served.bench.clock.pass_by(timedelta(hours=1))
    assert [post()["incident_id"], post(starts="2026-01-15T10:30:00Z")["incident_id"]] == [first, second]
    assert [lease.incident_id for lease in served.started[:2]] == [first, second]
    post(status="resolved", starts="2026-01-15T10:30:00Z")
    assert is_over(second)


def test_one_bad_alert_is_quarantined_with_what_was_missing_and_the_others_are_stored(served: Served) -> None:
    labels = {"alertname": "a", "function_name": "data-processor"}
    alerts = [{"labels": {"alertname": "b"}, "startsAt": ""}, {"labels": labels, "startsAt": "2026-01-15T10:00:00Z"}]
    body = {"alerts": alerts, "truncatedAlerts": 7}
    status, answer = served.post("alertmanager", body, Authorization=f"Bearer {SECRET}")
    assert status == 202
    first, second, third = (one["outcome"] for one in answer["alerts"])
    assert "quarantined: b names no function and no node" in first
    assert second == "stored"
    assert "quarantined: the sender left out 7 alerts" in third


def test_what_is_too_much_or_no_json_or_unknown_is_refused(served: Served) -> None:
    token = f"Bearer {SECRET}"
    assert served.post("alertmanager", b"x" * (MOST_BODY_BYTES + 1), Authorization=token)[0] == 413
    assert served.post("alertmanager", b"{not json", Authorization=token)[0] == 400
    assert served.post("nagios", {}, Authorization=token)[0] == 404
    many = {"alerts": [{"labels": {}}] * 201}
    assert served.post("alertmanager", many, Authorization=token)[0] == 413


def test_a_source_that_is_not_switched_on_is_not_there(served: Served) -> None:
    alone = replace(served.hooks, secrets={HookSource.GENERIC: SECRET})
    assert HookSource.GRAFANA not in alone.secrets
    from starlette.testclient import TestClient

    assert TestClient(hooks_app(alone)).post("/hooks/grafana", json={}).status_code == 404


def test_over_its_rate_a_source_is_told_when_to_come_again(served: Served) -> None:
    answers = [served.post("grafana", {})[0] for _ in range(22)]
    assert 429 in answers
    assert served.signed(REPORT)[0] == 202, "another source has its own rate"


def test_everything_else_goes_to_the_main_application(served: Served) -> None:
    with urllib.request.urlopen(f"{served.url}/mcp", timeout=10) as answer:
        assert answer.read() == b"the main application"
