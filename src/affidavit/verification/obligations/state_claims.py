"""Holds "it is over", "nothing is wrong" and "it still fails" to the newest runs and the metrics."""

from collections.abc import Iterator
from pathlib import Path

from affidavit.evidence.diagnosis import Claim, Diagnosis, FaultType, ProducedBy
from affidavit.verification.obligations.obligation_conditions import concurrency_is_zero
from affidavit.verification.obligations.recorded_incident_facts import CONFIG, LOGS, Situation
from affidavit.verification.obligations.run_facts import RunEnd
from affidavit.verification.text.text_problem import WordFinding
from affidavit.verification.text.word_patterns import first_match, word_patterns

_FILE = Path(__file__).parent / "states.yaml"
# More good runs than this since the last failure, and a diagnosis has to say so.
_GOOD_FOR_A_WHILE = 3


def says_state(state: str, text: str) -> bool:
    return next(first_match(text, word_patterns(_FILE, state)), None) is not None


def state_findings(diagnosis: Diagnosis, at: Situation) -> Iterator[WordFinding]:
    """Problems and what stays open about how things stand now."""
    if not at.is_of_function:
        return
    cause = diagnosis.root_cause
    is_told = diagnosis.produced_by is ProducedBy.CHAT_MODEL
    is_healthy = not diagnosis.fault_types or (is_told and says_state("healthy", cause))
    is_over = (is_told and says_state("over", cause)) or any(one.claim is Claim.OVER for one in diagnosis.evidence)
    if is_healthy or is_over:
        yield from _against_health(at)
    if is_healthy:
        yield from _open_health(diagnosis, at)
    if is_over and not is_healthy and not at.good_since:
        yield WordFinding(says="it is said to be over, and no later run shows it", is_refused=False)
    if not (is_over or is_healthy):
        yield from _about_now(diagnosis, at)
    yield from _over_claims(diagnosis, at)
    if is_told and says_state("guess", cause):
        yield WordFinding(says="the cause is told as a guess", is_refused=False)


def _against_health(at: Situation) -> Iterator[WordFinding]:
    newest = at.newest_run
    if newest is not None and newest.end is RunEnd.FAILED:
        says = f"it is said to be over or healthy, but the newest run {newest.request_id} failed"
        yield WordFinding(says=says, is_refused=True)
    if concurrency_is_zero(at, FaultType.THROTTLING):
        yield WordFinding(says="it is said to be over or healthy, but no run may start", is_refused=True)


def _open_health(diagnosis: Diagnosis, at: Situation) -> Iterator[WordFinding]:
    """What "nothing is wrong" needs besides good news."""
    errors, throttles = at.metric("errors"), at.metric("throttles")
    if errors is None:
        yield _open("the metric of failed runs was not read, so nothing shows that all is well")
    elif errors > len(at.failing):
        yield _open(f"the metrics count {errors:g} failed runs, and the log shows {len(at.failing)} of them")
    if throttles:
        yield _open(f"the metrics count {throttles:g} throttled calls, which nothing explains")
    if not any(run.end is RunEnd.WELL for run in at.runs):
        yield _open("no run is shown to have ended well")
    if at.answer(LOGS).get("is_complete") is not True and not at.good_since:
        yield _open("the log was not read whole")
    if not at.answer(CONFIG):
        yield _open("the configuration was not read")


def _about_now(diagnosis: Diagnosis, at: Situation) -> Iterator[WordFinding]:
    """A fault that is told as present, while the newest runs go well."""
    is_past = bool(at.failing) and len(at.good_since) > 0 and not concurrency_is_zero(at, FaultType.THROTTLING)
    if is_past and says_state("present", diagnosis.root_cause):
        yield WordFinding(says="it is said to fail still, but the newest run ended well", is_refused=True)
    elif is_past and len(at.good_since) >= _GOOD_FOR_A_WHILE and diagnosis.produced_by is ProducedBy.CHAT_MODEL:
        yield _open("the newest runs end well, and the cause does not say so")


def _over_claims(diagnosis: Diagnosis, at: Situation) -> Iterator[WordFinding]:
    for number, pointer in enumerate(diagnosis.evidence):
        if pointer.claim is not Claim.OVER:
            continue
        run = at.event_run(pointer.field) if pointer.tool == LOGS else None
        if run is None:
            yield _open(f"evidence[{number}]: it claims an end, and cites no run")
        elif run not in at.good_since:
            says = (
                f"evidence[{number}]: it claims an end, but the run it cites is not a good one after the last failure"
            )
            yield WordFinding(says=says, is_refused=True)


def _open(says: str) -> WordFinding:
    return WordFinding(says=says, is_refused=False)
