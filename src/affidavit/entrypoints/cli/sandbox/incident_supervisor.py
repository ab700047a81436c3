"""The sandbox's supervisor process: does what AWS does around our Lambda functions, and runs them.

`python -m affidavit.entrypoints.cli.sandbox.incident_supervisor QUEUE_URL`, with the sandbox's variables set.
"""

import logging
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from affidavit.adapters.aws.clients import AwsClients
from affidavit.entrypoints.lambdas import on_incident, on_watchdog_tick
from affidavit.errors import AffidavitError
from affidavit.sandbox.aws.alert_queue import RUN_SECONDS, take_alerts
from affidavit.settings import Settings

WATCHDOG_SECONDS = 300
log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class RunContext:
    """What Lambda tells a function about its run."""

    invoked_function_arn: str = ""
    started: float = field(default_factory=time.monotonic)

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((RUN_SECONDS - (time.monotonic() - self.started)) * 1000))


def main(queue_url: str) -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(message)s", force=True)
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _setting(stopping))
    on_incident.application("")  # once, before threads need it
    threading.Thread(target=_watch, args=(stopping,), daemon=True).start()
    sqs = AwsClients(Settings.from_environment().region).client("sqs")
    take_alerts(sqs, queue_url, _handle, goes_on=lambda: not stopping.is_set())


def _setting(stopping: threading.Event) -> Callable[[int, object], None]:
    def handle(_signal: int, _frame: object) -> None:
        stopping.set()

    return handle


def _handle(event: dict[str, Any]) -> object:
    return on_incident.handler(event, RunContext())


def _watch(stopping: threading.Event) -> None:
    """Runs the watchdog as EventBridge's schedule does."""
    while not stopping.wait(WATCHDOG_SECONDS):
        try:
            on_watchdog_tick.handler({}, RunContext())
        except AffidavitError:
            log.exception("the watchdog failed; it will run again")


if __name__ == "__main__":
    main(sys.argv[1])
