"""The real command, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path


def affidavit(
    *arguments: str | Path, stdin: bytes = b"", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "affidavit", *map(str, arguments)]
    done = subprocess.run(
        command, input=stdin, capture_output=True, env={**os.environ, **(env or {})}, check=False, timeout=120
    )
    return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())
