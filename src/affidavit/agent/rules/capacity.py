"""Faults of limits: concurrency, throughput, time and memory."""

from collections.abc import Iterator

from affidavit.agent.rules.facts import CONFIG, LOGS, Facts
from affidavit.agent.rules.fault import Fault, Remedy, names, proofs
from affidavit.agent.rules.runs import Run, Sign
from affidavit.evidence.diagnosis import FaultType, IncidentSeverity, RiskLevel

NEARLY_FULL = 0.95


def throttling_faults(facts: Facts) -> Iterator[Fault]:
    yield from _reserved(facts)
    yield from _account(facts)
    for sign in facts.history.current("downstream-throttled"):
        yield Fault(
            kind=FaultType.THROTTLING,
            cause="a service that the function calls refuses requests beyond its throughput (it throttles)",
            resources=names(facts.function),
            proof=(facts.quote(sign, shows="The called service asked to slow down."),),
            remedy=Remedy(
                action="Raise the called service's throughput, or call it less",
                details="The refusals come from the service behind the function, not from Lambda.",
                risk=RiskLevel.MEDIUM,
            ),
            explains=frozenset({"downstream-throttled", "raised"}),
        )


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
    if is_reserved or not limit or used is None or used < limit or not facts.metrics.get("throttles"):
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
    signs = [
        sign
        for sign in facts.history.current("heap-full", "killed")
        if sign.kind == "heap-full" or _is_full(_run_of(facts, sign))
    ]
    if not signs:
        return
    run = _run_of(facts, signs[0])
    reported = (
        facts.point(LOGS, "events", run.report, "message", shows="Memory the run had, and used.")
        if run and run.report is not None
        else None
    )
    size = facts.point(CONFIG, "MemorySize", shows="Memory of the function, in megabytes.")
    yield Fault(
        kind=FaultType.OUT_OF_MEMORY,
        cause=f"runs of {facts.function} use up their memory (heap included) and are killed",
        resources=names(facts.function),
        proof=proofs(facts.quote(signs[0], shows="The run ended for want of memory."), reported, size),
        remedy=Remedy(
            action="Give the function more memory", details="Or let it hold less at once; memory is the limit it hits."
        ),
        explains=frozenset({"heap-full", "killed", "exited", "raised"}),
    )


def _run_of(facts: Facts, sign: Sign) -> Run | None:
    return next((run for run in facts.history.runs if sign in run.signs), None)


def _is_full(run: Run | None) -> bool:
    """Killed without a report is Lambda's way of saying memory; with one, the report decides."""
    return run is None or run.memory is None or run.memory[1] >= NEARLY_FULL * run.memory[0]


def timeout_faults(facts: Facts) -> Iterator[Fault]:
    for sign in facts.history.current("timed-out"):
        limit = facts.point(CONFIG, "Timeout", shows="Seconds after which a run is stopped.")
        yield Fault(
            kind=FaultType.TIMEOUT,
            cause=f"runs of {facts.function} reach the timeout: the task timed out before it was done",
            resources=names(facts.function),
            proof=proofs(facts.quote(sign, shows="Lambda stopped the run at its time limit."), limit),
            remedy=Remedy(
                action="Find what the run waits for; raise the timeout if the work is simply long",
                details="The last lines before the stop say what it was doing.",
            ),
            explains=frozenset({"timed-out"}),
        )
