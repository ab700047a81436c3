"""Checks a result once more before it is stored: only what verifies is kept."""

from collections.abc import Sequence
from dataclasses import replace

from affidavit.evidence.citation_check import ByteSource
from affidavit.evidence.diagnosis import Diagnosis
from affidavit.incidents.attempt.answer_ledger import Entry
from affidavit.incidents.attempt.diagnostician_port import AgentResult, RunOutcome
from affidavit.incidents.attempt.incident_for_verification import about_incident
from affidavit.incidents.incident import Incident
from affidavit.verification.assess import assess, graded


def judged(result: AgentResult, incident: Incident, entries: Sequence[Entry], source: ByteSource | None) -> AgentResult:
    """The result with only what verifies left in it."""
    result = replace(result, best_so_far=proven(result.best_so_far, incident, entries, source))
    if result.diagnosis is None or result.error is not None:
        # A run that failed has no diagnosis; what it could prove is its best so far.
        kept = result.best_so_far or proven(result.diagnosis, incident, entries, source)
        return replace(result, diagnosis=None, best_so_far=kept)
    found = assess(result.diagnosis, entries, source, about_incident(incident))
    if not found.holds:
        return replace(result, diagnosis=None, outcome=RunOutcome.UNVERIFIED, gaps=(*found.problems, *result.gaps))
    return replace(result, diagnosis=graded(result.diagnosis, entries, found))


def proven(
    diagnosis: Diagnosis | None, incident: Incident, entries: Sequence[Entry], source: ByteSource | None
) -> Diagnosis | None:
    """The diagnosis with its grade; None when it does not hold."""
    if diagnosis is None:
        return None
    found = assess(diagnosis, entries, source, about_incident(incident))
    return graded(diagnosis, entries, found) if found.holds else None
