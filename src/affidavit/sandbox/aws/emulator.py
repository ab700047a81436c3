"""Starts and stops the AWS emulator (ministack), a child process on 127.0.0.1 that keeps all in memory.

Every start has keys of its own. Requests must be signed with them, and IAM is enforced: functions run with their role's
permissions, our key may do everything.
"""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from affidavit.errors import InputRefused, UpstreamFailed
from affidavit.sandbox.access.keys import SandboxKeys
from affidavit.sandbox.access.signatures import signed_headers
from affidavit.sandbox.processes.child import last_words

START_SECONDS = 30
STOP_SECONDS = 5
PORT_ATTEMPTS = 3


class Emulator:
    """Started once, stopped once. Its log is `emulator.log` in `folder`, its files lie there too."""

    def __init__(self, folder: Path, *, region: str) -> None:
        self._folder, self._region = folder, region
        self.keys = SandboxKeys.new()
        self._child: subprocess.Popen[bytes] | None = None
        self._port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def log(self) -> Path:
        return self._folder / "emulator.log"

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child is not None else None

    def start(self) -> None:
        if find_spec("ministack") is None:
            raise InputRefused("the sandbox needs ministack", hint="pip install 'affidavit[sandbox]'")
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # The code of functions and what they were given lies in it: for its owner alone.
        self._folder.chmod(0o700)
        # Between choosing a free port and using it, somebody else may take it.
        for _ in range(PORT_ATTEMPTS):
            self._launch()
            if self._is_up():
                return
            self.stop()
        raise UpstreamFailed(f"the emulator did not start: {last_words(self.log)}", hint=f"read {self.log}")

    def stop(self) -> None:
        if self._child is None:
            return
        if self._child.stdin is not None:
            self._child.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(STOP_SECONDS)
        with suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        self._child = None

    def _launch(self) -> None:
        self._port = _free_port()
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                [sys.executable, "-m", "affidavit.sandbox.aws.emulator_process"],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env=self._environment(),
                start_new_session=True,  # Ctrl-C is for us: we stop it in order
            )

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        return kept | {
            "AWS_ACCESS_KEY_ID": self.keys.access_key,
            "AWS_SECRET_ACCESS_KEY": self.keys.secret_key,
            "AUTH": "true",
            "BIND_HOST": "127.0.0.1",
            "MINISTACK_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(self._port),
            "MINISTACK_REGION": self._region,
            "LOG_LEVEL": "WARNING",
            "CLOUDTRAIL_RECORDING": "1",
            "TMPDIR": str(self._folder.absolute()),
            "SFTP_ENABLED": "0",
            "IOT_MTLS_ENABLED": "0",
            # It would look for containers to remove on a Docker daemon that it finds.
            "DOCKER_HOST": "unix:///nonexistent",
        }

    def _is_up(self) -> bool:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self._child is None or self._child.poll() is not None:
                return False
            with suppress(urllib.error.URLError, ConnectionError, TimeoutError):
                urllib.request.urlopen(self._health_request(), timeout=2).close()
                return True
            time.sleep(0.03)
        return False

    def _health_request(self) -> urllib.request.Request:
        url = f"{self.url}/_ministack/health"
        headers = signed_headers(self.keys, url, region=self._region, service="ministack")
        return urllib.request.Request(url, headers=headers)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
