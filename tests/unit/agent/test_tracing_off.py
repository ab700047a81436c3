"""No prompt leaves for a tracer, whatever the environment says."""

import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

PROGRAM = """
import sys, time
from tests.unit.agent.support import investigate, scenario
from affidavit.agent.chat import offline, tracing_off
{before}
assert investigate(offline.OfflineChat(), scenario()).diagnosis is not None
from langchain_core.tracers.langchain import wait_for_all_tracers
wait_for_all_tracers()
"""


def requests_during(before: str) -> list[str]:
    seen: list[str] = []

    class Peer(BaseHTTPRequestHandler):
        def _noted(self) -> None:
            seen.append(f"{self.command} {self.path}")
            self.rfile.read(int(self.headers.get("content-length") or 0))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        do_GET = do_POST = do_PATCH = _noted  # noqa: N815 - the base class's names

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            pass

    peer = ThreadingHTTPServer(("127.0.0.1", 0), Peer)
    threading.Thread(target=peer.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{peer.server_address[1]}"
    switched_on = {
        f"{prefix}_{name}": value
        for prefix in ("LANGSMITH", "LANGCHAIN")
        for name, value in {"TRACING": "true", "TRACING_V2": "true", "ENDPOINT": url, "API_KEY": "k"}.items()
        if (prefix, name) != ("LANGCHAIN", "TRACING")  # the first tracer is gone: its variable is an error today
    }
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(before=before)],
        env={**os.environ, **switched_on},
        capture_output=True,
        text=True,
        check=False,
    )
    peer.shutdown()
    peer.server_close()
    assert ran.returncode == 0, ran.stderr
    return seen


@pytest.mark.parametrize("before", ["", "import langsmith.utils; langsmith.utils.get_env_var('TRACING_V2')"])
def test_a_tracer_that_the_environment_switches_on_gets_nothing(before: str) -> None:
    assert requests_during(before) == []


def test_without_the_switch_the_tracer_would_get_the_prompts() -> None:
    assert requests_during("import affidavit.agent.run as run; run.switch_off_tracing = lambda: None") != []
