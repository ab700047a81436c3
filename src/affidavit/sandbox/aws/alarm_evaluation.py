"""Makes the emulator evaluate its alarms. CloudWatch does so by itself; the emulator only when a metric is written."""

import threading
from types import TracebackType
from typing import Any, Self

from botocore.exceptions import BotoCoreError, ClientError

EVERY_SECONDS = 1.0
NAMESPACE = "Affidavit/Sandbox"


class AlarmClock:
    """A function that never runs writes no metric of its own, so without this its alarm would never fire."""

    def __init__(self, cloudwatch: Any) -> None:
        self._cloudwatch = cloudwatch
        self._stopping = threading.Event()

    def __enter__(self) -> Self:
        threading.Thread(target=self._run, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()

    def _run(self) -> None:
        while not self._stopping.wait(EVERY_SECONDS):
            try:
                self._cloudwatch.put_metric_data(Namespace=NAMESPACE, MetricData=[{"MetricName": "Tick", "Value": 1}])
            except (BotoCoreError, ClientError):
                continue  # it is stopping, or busy: the next tick tells
