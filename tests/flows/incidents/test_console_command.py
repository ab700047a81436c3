"""`affidavit console` as a person starts it: it prints an address that logs in once, on a free port if asked."""

import os
import subprocess
import sys
from pathlib import Path

import httpx


def test_the_command_prints_an_address_that_opens_the_console_once(tmp_path: Path) -> None:
    environment = {**os.environ, "AFFIDAVIT_DATA": str(tmp_path / "data"), "LOGS_BUCKET": ""}
    command = [sys.executable, "-m", "affidavit", "console", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment) as it:
        try:
            assert it.stdout is not None
            link = it.stdout.readline().strip()
            assert not link.startswith("http://127.0.0.1:8322/")
            with httpx.Client(follow_redirects=True) as client:
                assert "Incidents" in client.get(link, timeout=30).text
            assert httpx.get(link, timeout=30).status_code == 403
        finally:
            it.terminate()
