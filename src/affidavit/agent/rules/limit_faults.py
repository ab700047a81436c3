"""Faults of limits: concurrency, time and memory."""

from collections.abc import Iterator, Sequence

from affidavit.agent.rules.errors.error_on_one_line import brief, is_order
from affidavit.agent.rules.failure_reasons import INIT_TIMED_OUT, KILLED, TIMED_OUT, Reason
from affidavit.agent.rules.fault import Fault, Remedy, names, proofs
from affidavit.agent.rules.ledger_facts import CONFIG, LOGS, Facts
from affidavit.agent.rules.run_history import PastRun
from affidavit.evidence.diagnosis import EvidencePointer, FaultType, IncidentSeverity, RiskLevel

LONGEST_LAST_WORDS = 110


def concurrency_faults(facts: Facts) -> Iterator[Fault]:
    yield from _reserved(facts)
    yield from _account(facts)


def _reserved(facts: Facts) -> Iterator[Fault]:
    reserved = facts.config.get("ReservedConcurrentExecutions")
    throttles = facts.metrics.get("throttles") or 0
    busiest = facts.metrics.get("max_concurrent_executions")
    if not isinstance(reserved, int) or (reserved > 0 and not throttles):
        return
    # No datapoint is not zero runs: a reservation is the function's only limit, so its throttles speak for themselves.
    if busiest is not None and busiest < reserved:
        return
    shown = facts.point(CONFIG, "ReservedConcurrentExecutions", shows="How many runs at once are reserved and allowed.")
    counted = facts.point(CONFIG, "Metrics", "throttles", shows="Calls refused for want of concurrency.")
    effect = (
        "it can never run" if reserved == 0 else f"only {reserved} at a time may run and further calls are throttled"
    )
    yield Fault(
        kind=FaultType.THROTTLING,
        cause=f"reserved concurrency of {facts.function} is {reserved}, so {effect}",
        resources=names(facts.function),
        proof=proofs(shown, counted if throttles else None),
        remedy=Remedy(
            action="Raise or remove the reserved concurrency",
            details=f"Reserved concurrency is {reserved}. Find out who set it before it is lifted.",
            risk=RiskLevel.MEDIUM,
        ),
        severity=IncidentSeverity.CRITICAL if reserved == 0 else IncidentSeverity.HIGH,
    )


def _account(facts: Facts) -> Iterator[Fault]:
    limit = facts.config.get("AccountConcurrencyLimit")
    used = facts.metrics.get("account_max_concurrent_executions")
    is_reserved = facts.config.get("ReservedConcurrentExecutions") is not None
    if is_reserved or not limit or used is None or not facts.metrics.get("throttles"):
        return
    left = facts.config.get("AccountUnreservedConcurrency")
    # Reservations of other functions shrink what is left for this one.
    is_full = used >= limit or (isinstance(left, int) and left <= 0)
    if not is_full:
        return
    yield Fault(
        kind=FaultType.THROTTLING,
        cause=f"the account's concurrency limit of {limit} is used up by all functions together",
        resources=names(facts.function),
        proof=proofs(
            facts.point(CONFIG, "AccountConcurrencyLimit", shows="The account's limit of runs at once."),
            facts.point(
                CONFIG, "Metrics", "account_max_concurrent_executions", shows="Most runs at once, account wide."
            ),
            facts.point(CONFIG, "Metrics", "throttles", shows="Calls of this function that were refused."),
        ),
        remedy=Remedy(
            action="Raise the account's concurrency limit, or reserve a part for this function",
            details="Other functions use up the account's concurrency.",
            risk=RiskLevel.MEDIUM,
        ),
    )


def memory_faults(facts: Facts) -> Iterator[Fault]:
    reasons = facts.history.current(KILLED, "memory")
    if not reasons:
        return
    run = facts.history.run_of(reasons[0])
    size = facts.point(CONFIG, "MemorySize", shows="Memory of the function, in megabytes.")
    yield Fault(
        kind=FaultType.OUT_OF_MEMORY,
        cause=f"runs of {facts.function} use up their memory (heap included) and are killed{_told(reasons)}",
        resources=names(facts.function),
        proof=proofs(
            *(facts.quote(reason, shows="The run ended for want of memory.") for reason in reasons),
            _report(facts, run, "Memory the run had, and used."),
            size,
        ),
        remedy=Remedy(
            action="Give the function more memory", details="Or let it hold less at once; memory is the limit it hits."
        ),
        explains=frozenset(reason.label for reason in reasons),
    )


def _told(reasons: Sequence[Reason]) -> str:
    """The program's own word for it, where it has one: a heap, a buffer, the space for classes."""
    named = [brief(reason) for reason in reasons if reason.label != KILLED]
    return f" ({named[0]})" if named else ""


def timeout_faults(facts: Facts) -> Iterator[Fault]:
    # In a VPC a closed way looks just like this, so without a look at the network the cause stays open.
    is_open = bool(facts.config.get("VpcConfig")) and not facts.network
    for reason in facts.history.current(TIMED_OUT):
        limit = facts.config.get("Timeout")
        run = facts.history.run_of(reason)
        words = _last_words(run)
        after = f" of {limit} s" if limit else ""
        told = f"; it had said {' … '.join(repr(word) for _, word in words)}" if words else ", and it had said nothing"
        yield Fault(
            kind=FaultType.UNKNOWN if is_open else FaultType.TIMEOUT,
            cause=f"runs of {facts.function} reach the timeout{after}: the task timed out before it was done{told}",
            resources=names(facts.function),
            proof=proofs(
                facts.quote(reason, shows="Lambda stopped the run at its time limit."),
                facts.point(CONFIG, "Timeout", shows="Seconds after which a run is stopped."),
                *(_said(facts, place, word) for place, word in words),
            ),
            remedy=Remedy(
                action="Find what the run waits for; raise the timeout if the work is simply long",
                details="The last lines before the stop say what it was doing.",
            ),
            explains=frozenset({TIMED_OUT}),
            gaps=() if words else ("what the runs waited for",),
            is_sure=bool(words) and not is_open,
        )


def init_timeout_faults(facts: Facts) -> Iterator[Fault]:
    for reason in facts.history.current(INIT_TIMED_OUT):
        yield Fault(
            kind=FaultType.STARTUP,
            cause=f"{facts.function} does not finish its init phase in time, so the handler never runs",
            resources=names(facts.function),
            proof=proofs(
                facts.quote(reason, shows="Lambda stopped the init phase at its time limit."),
                facts.point(CONFIG, "Timeout", shows="Seconds after which a run is stopped."),
                facts.point(CONFIG, "MemorySize", shows="Memory of the function; the processor grows with it."),
            ),
            remedy=Remedy(
                action="Make the start shorter, or give it more memory and with it more processor",
                details="What is loaded at the start takes longer than Lambda waits.",
            ),
            severity=IncidentSeverity.CRITICAL,
            explains=frozenset({INIT_TIMED_OUT}),
        )


def _report(facts: Facts, run: PastRun | None, shows: str) -> EvidencePointer | None:
    if run is None or run.run.report is None:
        return None
    return facts.point(LOGS, "events", run.run.report, "message", shows=shows)


def _last_words(run: PastRun | None) -> Sequence[tuple[int, str]]:
    """The first and the last thing the run said of its own: what it had to do, and how far it came."""
    said = [
        (one.place, " ".join(one.text.split())[:LONGEST_LAST_WORDS].strip())
        for one in (run.run.statements if run else ())
        if not one.is_noise and not is_order(one.text) and one.text.strip()
    ]
    long = [(place, word) for place, word in said if len(word) >= 8]
    return long if len(long) <= 2 else [long[0], long[-1]]


def _said(facts: Facts, place: int, word: str) -> EvidencePointer | None:
    message = facts.logs["events"][place].get("message", "")
    if word not in message:
        return facts.point(LOGS, "events", place, "message", shows="What the run said before it was stopped.")
    return facts.quote(
        Reason(label=TIMED_OUT, event=place, quote=word, text=word, raw=word),
        shows="What the run said before it was stopped.",
    )
