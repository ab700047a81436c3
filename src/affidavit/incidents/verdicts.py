"""The supervisor's own check of a result: an investigator's word is not enough."""

from collections.abc import Sequence
from dataclasses import replace

from affidavit.evidence.citation import ByteSource
from affidavit.evidence.diagnosis import Diagnosis
from affidavit.incidents.diagnostician import AgentResult, Outcome
from affidavit.incidents.ledger import Entry
from affidavit.verification.confidence import proven_confidence
from affidavit.verification.verify import verify


def judged(result: AgentResult, entries: Sequence[Entry], source: ByteSource | None) -> AgentResult:
    """The result with only what verifies left in it."""
    result = replace(result, best_so_far=proven(result.best_so_far, entries, source))
    if result.diagnosis is None or result.error is not None:
        # A run that failed has no diagnosis; what it could prove is its best so far.
        kept = result.best_so_far or proven(result.diagnosis, entries, source)
        return replace(result, diagnosis=None, best_so_far=kept)
    verdict = verify(result.diagnosis, entries, source)
    if not verdict.holds:
        gaps = (*verdict.all_problems, *result.gaps)
        return replace(result, diagnosis=None, outcome=Outcome.UNVERIFIED, gaps=gaps)
    return replace(result, diagnosis=_settled(result.diagnosis, entries))


def proven(diagnosis: Diagnosis | None, entries: Sequence[Entry], source: ByteSource | None) -> Diagnosis | None:
    if diagnosis is None or not verify(diagnosis, entries, source).holds:
        return None
    return _settled(diagnosis, entries)


def _settled(diagnosis: Diagnosis, entries: Sequence[Entry]) -> Diagnosis:
    return diagnosis.model_copy(update={"confidence": proven_confidence(diagnosis, entries)})
