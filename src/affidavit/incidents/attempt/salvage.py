"""Keeps what the dead workers of an incident had recorded, and what rules can prove of it.

The incident is closed before this runs. When this fails or never happens, it stays closed.
"""

from datetime import timedelta

from affidavit.incidents.attempt.answer_ledger import Ledger
from affidavit.incidents.attempt.diagnostician_port import AgentResult, RunOutcome
from affidavit.incidents.attempt.evidence_without_chat_model import Degraded, gather_context
from affidavit.incidents.attempt.result_check import proven
from affidavit.incidents.store.state import IncidentState
from affidavit.incidents.store.stored_diagnoses import IncidentContext
from affidavit.incidents.supervisor_dependencies import Equipment
from affidavit.ports.table import Put

_WHY = "every worker died before it was done; this rests on what they had recorded until then"


def keep_leftovers(closed: IncidentState, under: Equipment) -> bool:
    """Whether anything was kept. `closed` is the incident as it was given up; one that was reopened keeps nothing."""
    known = under.contexts.get_context(closed.incident.incident_id)
    keys = _keys(closed, known)
    if under.degraded is None or len(keys) == len(known.ledger if known is not None else ()):
        return False
    write = _write(closed, known, keys, under, under.degraded(closed.incident))
    return under.states.add_after_end(closed, [write])


def _keys(closed: IncidentState, known: IncidentContext | None) -> tuple[str, ...]:
    """Of earlier attempts that ended by themselves, then of those that died: the newest answer of a tool is last."""
    return tuple(dict.fromkeys((*(known.ledger if known is not None else ()), *closed.ledger)))


def _write(
    closed: IncidentState, known: IncidentContext | None, keys: tuple[str, ...], under: Equipment, degraded: Degraded
) -> Put:
    ledger = Ledger(under.records.entries(keys))
    best = degraded.conclude(ledger.entries)
    result = AgentResult(
        outcome=RunOutcome.STALE,
        token_usage=closed.spent,
        best_so_far=proven(best, closed.incident, ledger.entries, under.source),
        reasoning_chain=known.reasoning_chain if known is not None else (),
        llm_calls=known.llm_calls if known is not None else 0,
        tools_called=tuple(entry.tool for entry in ledger.entries),
        gaps=(_WHY,),
    )
    # Nobody is asked anything: a question may be what they died of.
    evidence = gather_context(degraded, ledger, time_left=timedelta)
    return under.contexts.write_of(closed, result, keys, evidence=evidence)
