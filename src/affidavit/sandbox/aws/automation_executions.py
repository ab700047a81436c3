"""What the Automation simulator remembers, also across its own restart when it is given a file."""

import json
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

STEPS = ("ValidateInstance", "RunLogCollector", "UploadLogs")
ENDED = frozenset({"Success", "Failed", "TimedOut", "Cancelled"})


@dataclass(frozen=True, kw_only=True, slots=True)
class AutomationRun:
    """One automation execution. `status` and `steps` use the service's words."""

    execution_id: str
    token: str | None
    region: str
    parameters: dict[str, list[str]]
    started: float
    document: str = ""
    status: str = "Pending"
    steps: tuple[str, ...] = ("Pending",) * len(STEPS)
    ended: float | None = None
    failure: str | None = None
    archive_key: str | None = None

    @property
    def instance_id(self) -> str:
        return (self.parameters.get("EKSInstanceId") or [""])[0]

    @property
    def has_ended(self) -> bool:
        return self.status in ENDED


@dataclass(slots=True)
class Executions:
    """Every change is one step under a lock, and on disk before anybody hears of it."""

    file: Path | None = None
    _runs: dict[str, AutomationRun] = field(default_factory=dict[str, AutomationRun])
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        if self.file is not None and self.file.exists():
            stored: list[dict[str, Any]] = json.loads(self.file.read_text())
            runs = (AutomationRun(**entry) for entry in stored)
            self._runs = {run.execution_id: replace(run, steps=tuple(run.steps)) for run in runs}

    def all(self) -> Sequence[AutomationRun]:
        with self._lock:
            return tuple(self._runs.values())

    def find(self, execution_id: str, region: str) -> AutomationRun | None:
        with self._lock:
            run = self._runs.get(execution_id)
        return run if run is not None and run.region == region else None

    def begin(
        self, token: str | None, region: str, document: str, parameters: dict[str, list[str]]
    ) -> tuple[AutomationRun, bool]:
        """The token's run, and whether it is a new one."""
        with self._lock:
            for run in self._runs.values():
                if token is not None and (run.token, run.region) == (token, region):
                    return run, False
            run = AutomationRun(
                execution_id=str(uuid.uuid4()),
                token=token,
                region=region,
                document=document,
                parameters=parameters,
                started=time.time(),
            )
            self._keep(run)
            return run, True

    def change(self, execution_id: str, change: Callable[[AutomationRun], AutomationRun]) -> AutomationRun:
        """What has ended stays as it ended."""
        with self._lock:
            run = self._runs[execution_id]
            if not run.has_ended:
                run = change(run)
                self._keep(replace(run, ended=time.time()) if run.has_ended else run)
            return self._runs[execution_id]

    def _keep(self, run: AutomationRun) -> None:
        self._runs[run.execution_id] = run
        if self.file is not None:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            written = self.file.with_suffix(".new")
            written.write_text(json.dumps([asdict(each) for each in self._runs.values()]))
            written.replace(self.file)
