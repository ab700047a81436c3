"""What raised the incident, as far as rules use it: it tells where to look and is never evidence."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from affidavit.incidents.incident import Incident, Signal

# Metrics of Lambda's that count or time runs, whether they go well or not.
_WITHOUT_FAILURE = frozenset(
    {
        "duration",
        "postruntimeextensionsduration",
        "invocations",
        "concurrentexecutions",
        "unreservedconcurrentexecutions",
        "provisionedconcurrencyutilization",
        "provisionedconcurrentexecutions",
        "provisionedconcurrencyinvocations",
        "claimedaccountconcurrency",
        "throttles",
    }
)

_OF_WORDS = re.compile(
    r"(?i)(error|exception|denied|denial|fatal|warn(ing)?|timeout|traceback|panic)s?[_-]?"
    r"(lines?|logs?|words?|messages?|entries|match(es)?|count|occurrences|filter)$|^log[_-]?(errors?|exceptions?|warnings?)$"
)


@dataclass(frozen=True, kw_only=True)
class RaisedBy:
    """`metric` is the alarm's, in CloudWatch's name; empty when it is not known."""

    signal: Signal
    metric: str = ""
    error_type: str = ""
    message: str = ""

    @property
    def is_alarm(self) -> bool:
        return self.signal is Signal.ALARM

    @property
    def tells_of_failure(self) -> bool:
        """Something failed, by the alert's own word. An alarm on a duration says only that a number is high."""
        return not self.is_alarm or self.metric.lower() not in _WITHOUT_FAILURE

    @property
    def counts_words(self) -> bool:
        """By its name, the alarmed metric counts words in the log (a metric filter): whoever says them is counted."""
        return self.is_alarm and _OF_WORDS.search(self.metric) is not None

    @property
    def counts_no_run(self) -> bool:
        """It tells of work that was not done, which Lambda counts as no failed run: a report, or an alarm on a lag."""
        return not self.is_alarm or self.metric.lower() not in ("errors", *_WITHOUT_FAILURE)


def raised_by(incident: Incident) -> RaisedBy:
    return RaisedBy(
        signal=incident.signal, metric=incident.metric, error_type=incident.error_type, message=incident.message
    )


def raised_by_fields(told: Mapping[str, object]) -> RaisedBy | None:
    """Read back from the fields that a chat model is told; None when they hold no alert."""
    try:
        signal = Signal(str(told.get("signal", "")))
    except ValueError:
        return None
    return RaisedBy(
        signal=signal,
        metric=str(told.get("metric", "")),
        error_type=str(told.get("error_type", "")),
        message=str(told.get("message", "")),
    )
