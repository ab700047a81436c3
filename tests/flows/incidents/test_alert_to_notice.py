"""From a webhook to a message in a channel: the alert is stored, investigated by rules, proven, and told."""

import hashlib
import hmac
import json
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from tests.support.peers.http_peer import Peer, a_peer
from tests.support.processes.command import affidavit

from affidavit.bootstrap import App, build_app, build_library
from affidavit.entrypoints.http.hooks.app import hooks_app
from affidavit.entrypoints.http.hooks.wiring import build_hooks
from affidavit.investigation import analyze
from affidavit.nodes.ingest.bundle_intake import ingest
from affidavit.sandbox.account.node_archives import archive_of
from affidavit.sandbox.account.nodes import FleetNode
from affidavit.settings import Settings

SECRET = "0123456789abcdef0123456789abcdef"
# As the archives say.
COLLECTED = "2026-01-15T10:30:00Z"
NODES = ("i-0a1e47000000000a1", "i-0a1e47000000000b2")


class Station:
    """A server with hooks, a library with two broken nodes, and somebody who hears notices."""

    def __init__(self, folder: Path, peer: Peer) -> None:
        self.peer, self.folder = peer, folder
        self.environment = {
            "AFFIDAVIT_DATA": str(folder / "data"),
            "CHAT_PROVIDER": "offline",
            "HOOK_ALERTMANAGER_SECRET": SECRET,
            "HOOK_PAGERDUTY_SECRET": SECRET,
            "SLACK_WEBHOOK_URL": f"{peer.url}/services/T/B/x",
            "NOTICE_WEBHOOK_URL": f"{peer.url}/notices",
            "NOTICE_WEBHOOK_SECRET": SECRET,
            "NOTICE_PRIVATE_HOSTS": "127.0.0.1",
            "CONSOLE_URL": "https://affidavit.example",
        }
        app = build_app(Settings.from_environment(self.environment))
        self._ingest(app)
        hooks = build_hooks(app, emit=lambda _: None, runs_here=True)
        assert hooks is not None
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.server = uvicorn.Server(uvicorn.Config(hooks_app(hooks), log_level="error", lifespan="off"))
        threading.Thread(target=self.server.run, args=([self._socket],), daemon=True).start()

    def _ingest(self, app: App) -> None:
        library = build_library(app)
        for node in NODES:
            bundle = self.folder / f"eks_{node}_2026-01-15_1030-UTC_0.7.9.tar.gz"
            bundle.write_bytes(archive_of(FleetNode(instance_id=node, faults=("oom",))))
            ingest(bundle, library, analyze=analyze)

    def post(self, source: str, body: Any) -> list[dict[str, Any]]:
        data = json.dumps(body).encode()
        signature = hmac.new(SECRET.encode(), data, hashlib.sha256).hexdigest()
        headers = {"authorization": f"Bearer {SECRET}", "x-pagerduty-signature": f"v1=other,v1={signature}"}
        url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/hooks/{source}"
        with urllib.request.urlopen(urllib.request.Request(url, data=data, headers=headers), timeout=60) as answer:
            assert answer.status == 202
            return json.loads(answer.read())["alerts"]

    def told(self, incident_id: str) -> dict[str, Any]:
        """The signed notice of this incident, once both channels have theirs."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            sent = list(self.peer.sent)
            notices = [one.json for one in sent if one.path == "/notices" and one.json["incident_id"] == incident_id]
            if notices and any(one.path.startswith("/services") and incident_id in one.body.decode() for one in sent):
                return notices[0]
            time.sleep(0.05)
        raise AssertionError(f"nobody was told of {incident_id}: {[one.path for one in self.peer.sent]}")

    def shown(self, incident_id: str) -> str:
        done = affidavit("incident", "show", incident_id, env=self.environment)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def station(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Station]:
    with a_peer() as peer:
        made = Station(tmp_path_factory.mktemp("station"), peer)
        yield made
        made.server.should_exit = True


def test_an_alert_of_alertmanager_becomes_a_proven_diagnosis_in_a_channel_and_its_end_is_noted(
    station: Station,
) -> None:
    alert = {
        "labels": {"alertname": "NodeNotReady", "instance_id": NODES[0], "severity": "critical"},
        "annotations": {"description": "the kubelet stopped posting its status <!channel>"},
        "startsAt": COLLECTED,
    }
    delivery = {"version": "4", "groupKey": "{}:{}", "receiver": "affidavit", "externalURL": "http://am.example"}
    (stored,) = station.post(
        "alertmanager", {**delivery, "status": "firing", "alerts": [{**alert, "status": "firing"}]}
    )
    assert stored["outcome"] == "stored"
    notice = station.told(stored["incident_id"])
    assert (notice["state"], notice["is_diagnosed"]) == ("DIAGNOSED", True)
    assert "memory" in notice["cause"]
    assert notice["evidence"]
    assert notice["link"] == f"https://affidavit.example/incidents/{stored['incident_id']}"
    assert "<!channel>" not in "".join(one.body.decode() for one in station.peer.sent if "services" in one.path)
    assert affidavit("verify", stored["incident_id"], env=station.environment).returncode == 0

    assert "is resolved" not in station.shown(stored["incident_id"])
    station.post("alertmanager", {**delivery, "status": "resolved", "alerts": [{**alert, "status": "resolved"}]})
    assert "DIAGNOSED" in (shown := station.shown(stored["incident_id"]))
    assert "the alert is resolved since" in shown
    exported = affidavit("incident", "export", stored["incident_id"], env=station.environment)
    minute = json.loads(exported.stdout)["resolved_at"][:16].replace("T", " ")
    assert f"resolved since {minute} UTC" in shown


def test_a_page_of_pagerduty_becomes_a_diagnosis_that_names_the_page(station: Station) -> None:
    data = {
        "id": "Q2B6FNR4",
        "title": "node is not ready",
        "created_at": COLLECTED,
        "body": {"details": {"instance_id": NODES[1]}},
    }
    (stored,) = station.post("pagerduty", {"event": {"id": "1", "event_type": "incident.triggered", "data": data}})
    notice = station.told(stored["incident_id"])
    assert notice["is_diagnosed"] is True
    assert notice["origin"] == {"source": "pagerduty", "key": "Q2B6FNR4"}
    station.post("pagerduty", {"event": {"id": "2", "event_type": "incident.resolved", "data": data}})
    assert "the alert is resolved since" in station.shown(stored["incident_id"])
