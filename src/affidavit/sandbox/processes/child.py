"""A program of ours as a process of its own, started and stopped with the sandbox."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from affidavit.errors import UpstreamFailed
from affidavit.sandbox.processes.start_stop_context import StartsAndStops

START_SECONDS = 30.0
STOP_SECONDS = 5.0
LONGEST_WORDS = 400


def last_words(log: Path) -> str:
    """The last line that a program wrote: its log may be gone with the sandbox before anybody reads it."""
    with suppress(OSError):
        lines = log.read_text("utf-8", "replace").split("\n")
        return next((line.strip()[:LONGEST_WORDS] for line in reversed(lines) if line.strip()), "it said nothing")
    return "it said nothing"


class Child(StartsAndStops):
    """`arguments` begin with the module to run. Its output goes to `log`."""

    def __init__(self, name: str, arguments: Sequence[str], *, environment: Mapping[str, str], log: Path) -> None:
        self.name, self.log = name, log
        self._arguments, self._environment = arguments, environment
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    @property
    def exit_code(self) -> int | None:
        """None while it runs, or when it was never started."""
        return self._process.poll() if self._process is not None else None

    def start(self) -> Self:
        # No variable of a real account is left in force: what the sandbox does not set is not there.
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "affidavit.sandbox.processes.tethered", *self._arguments],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env={**kept, **self._environment},
                start_new_session=True,  # Ctrl-C is for us: we stop it in order
            )
        return self

    def wait_until(self, is_ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not is_ready():
            if self._process is None or self._process.poll() is not None or time.monotonic() > deadline:
                raise UpstreamFailed(f"the {self.name} did not start: {last_words(self.log)}", hint=f"read {self.log}")
            time.sleep(0.03)

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
        process.kill()
        process.wait()
        if process.stdin is not None:
            process.stdin.close()
