"""Decides whether nothing is wrong or the fault is over. It says so only with proof."""

from collections.abc import Sequence

from affidavit.agent.rules.fault import proofs
from affidavit.agent.rules.ledger_facts import CONFIG, IAM, LOGS, Facts
from affidavit.agent.rules.printed_failures import alarming_words, has_own_trouble
from affidavit.evidence.diagnosis import EvidencePointer

# The fields of the answer by CloudWatch's name for the metric, in lower case.
READ_METRICS = {
    "errors": "errors",
    "throttles": "throttles",
    "duration": "max_duration_ms",
    "invocations": "invocations",
    "concurrentexecutions": "max_concurrent_executions",
    "deadlettererrors": "dead_letter_errors",
    "iteratorage": "max_iterator_age_ms",
    "destinationdeliveryfailures": "destination_delivery_failures",
    "asynceventsdropped": "async_events_dropped",
    "asynceventage": "max_async_event_age_ms",
    "provisionedconcurrencyspilloverinvocations": "provisioned_concurrency_spillovers",
    "offsetlag": "max_offset_lag",
    "recursiveinvocationsdropped": "recursive_invocations_dropped",
    "postruntimeextensionsduration": "max_post_runtime_extensions_ms",
    "provisionedconcurrencyutilization": "max_provisioned_utilization",
    "claimedaccountconcurrency": "account_max_claimed_concurrency",
}
_COUNTS_LOSS = (
    "dead_letter_errors",
    "destination_delivery_failures",
    "async_events_dropped",
    "recursive_invocations_dropped",
)


_LAGS = ("max_iterator_age_ms", "max_async_event_age_ms", "max_offset_lag")


def doubts(facts: Facts) -> list[str]:
    """What speaks against health, each in words; empty when health is shown."""
    runs = facts.history.runs
    if not runs or not facts.config:
        return ["no run of the function was read"]
    found: list[str] = []
    if not runs[-1].is_good:
        found.append("how the newest run ended is not known")
    found += _uncounted(facts)
    raised = facts.raised
    if raised is not None:
        found += _of_alert(facts)
    return found


def _uncounted(facts: Facts) -> list[str]:
    """Failures that Lambda counted and the log does not show."""
    errors = facts.metrics.get("errors")
    failed = len(facts.history.failed)
    if not isinstance(errors, int | float) or not errors or failed:
        return []
    return [f"Lambda counts {errors:g} failed runs, and the log that was read shows none of them"]


def _of_alert(facts: Facts) -> list[str]:
    raised = facts.raised
    assert raised is not None  # asked by `doubts` alone
    if not raised.is_alarm:
        return [] if facts.history.failed else ["the failure that was reported stands in no log line that was read"]
    field = READ_METRICS.get(raised.metric.lower())
    if raised.metric and field is None:
        return [] if counted_words(facts) else [unread_metric(facts)]
    if field in (*_COUNTS_LOSS, *_LAGS) and facts.metrics.get(field) and not facts.history.failed:
        return [f"{raised.metric} counts {facts.metrics[field]:g}, and nothing that was read says why"]
    if (
        field == "throttles"
        and facts.metrics.get("throttles")
        and facts.metrics.get("max_concurrent_executions") is None
    ):
        return ["how many runs there were at once is not known"]
    return []


def unread_metric(facts: Facts) -> str:
    return f"the alarmed metric {facts.raised.metric if facts.raised else ''} was not read"


def counted_words(facts: Facts) -> tuple[EvidencePointer, ...]:
    """Lines with the words that an alarm on the log counts, where all are hearsay and every run went well."""
    runs = facts.history.runs
    is_of_words = facts.raised is not None and facts.raised.counts_words
    is_well = all(run.is_good and not has_own_trouble(run.run) for run in runs)
    if not is_of_words or not is_well or facts.metrics.get("errors") != 0 or facts.metrics.get("throttles"):
        return ()
    lines = [one.lines[0].place for run in reversed(runs) for one in alarming_words(run.run)]
    shows = "Words that the alarm may count: quoted from elsewhere, or expected."
    return proofs(*(facts.point(LOGS, "events", place, "message", shows=shows) for place in lines[:2]))


def shown_by(facts: Facts) -> tuple[EvidencePointer, ...]:
    """What shows that the newest runs do well."""
    last = facts.history.runs[-1]
    over = facts.history.newest_reasons()
    field = READ_METRICS.get(facts.raised.metric.lower()) if facts.raised else None
    alarmed = (
        facts.point(CONFIG, "Metrics", field, shows="The alarmed metric in its window.")
        if field and field != "errors" and facts.metrics.get(field) is not None
        else None
    )
    return proofs(
        facts.point(LOGS, "events", last.run.report or 0, "message", shows="The newest run, which ended well."),
        *(facts.quote(reason, shows="An earlier failure; the newest run does not show it.") for reason in over),
        facts.point(CONFIG, "Metrics", "errors", shows="Failed runs in the window of the metrics."),
        alarmed,
        *counted_words(facts),
        facts.point(CONFIG, "State", shows="The function's state."),
        facts.point(IAM, "simulated_decisions", 0, "decision", shows="IAM's simulator now."),
    )


def unreadable_lines(facts: Facts) -> Sequence[EvidencePointer]:
    """The newest run's last words: what a person should read where rules could not."""
    for run in reversed(facts.history.runs):
        lines = [line for one in run.run.statements for line in one.lines]
        if lines:
            pointer = facts.point(LOGS, "events", lines[-1].place, "message", shows="The last words that were logged.")
            return proofs(pointer)
    return ()
