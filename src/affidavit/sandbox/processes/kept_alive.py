"""Keeps a child process running: one that dies is started again, and its log says so."""

import threading
from datetime import UTC, datetime
from typing import Self

from affidavit.sandbox.processes.child import Child
from affidavit.sandbox.processes.start_stop_context import StartsAndStops

LOOK_SECONDS = 0.5
# One that dies at once every time is broken, and starting it for ever would only hide that.
MOST_RESTARTS = 10


class KeptAlive(StartsAndStops):
    def __init__(self, child: Child) -> None:
        self.child, self.restarts = child, 0
        self._stopping = threading.Event()
        self._watcher: threading.Thread | None = None

    def start(self) -> Self:
        self.child.start()
        self._watcher = threading.Thread(target=self._watch, name=f"watch-{self.child.name}", daemon=True)
        self._watcher.start()
        return self

    def stop(self) -> None:
        """The watcher ends first, so that nothing is started again."""
        self._stopping.set()
        if self._watcher is not None:
            self._watcher.join()
        self.child.stop()

    def _watch(self) -> None:
        while self.restarts < MOST_RESTARTS and not self._stopping.wait(LOOK_SECONDS):
            code = self.child.exit_code
            if code is not None:
                self.restarts += 1
                self._note(f"the {self.child.name} ended with {code}; it is started again ({self.restarts})")
                self.child.stop()
                self.child.start()

    def _note(self, text: str) -> None:
        with self.child.log.open("a") as log:
            log.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {text}\n")
