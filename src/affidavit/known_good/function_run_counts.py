"""How runs of a function went in a window, by CloudWatch's numbers."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from affidavit.ports.workload_inspector import WorkloadInspector

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunCounts:
    invocations: float
    errors: float
    throttles: float

    @property
    def is_good(self) -> bool:
        """At least one run, and none that failed or could not start. No runs prove nothing."""
        return self.invocations > 0 and not self.is_failing

    @property
    def is_failing(self) -> bool:
        return self.errors > 0 or self.throttles > 0


def runs_between(inspector: WorkloadInspector, name: str, *, start: datetime, end: datetime) -> RunCounts:
    """Whole minutes, because CloudWatch counts by them: the one that `start` falls into is left out."""
    first = (
        start if start == start.replace(second=0, microsecond=0) else start.replace(second=0, microsecond=0) + MINUTE
    )

    def total(metric: str) -> float:
        begin, until = int(first.timestamp() * 1000), int(end.timestamp() * 1000)
        return inspector.metric(metric, function=name, statistic="Sum", start=begin, end=until) or 0.0

    if first >= end:
        return RunCounts(invocations=0, errors=0, throttles=0)
    return RunCounts(invocations=total("Invocations"), errors=total("Errors"), throttles=total("Throttles"))
