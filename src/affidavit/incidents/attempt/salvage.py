"""What an incident leaves whose every worker died: the answers they recorded, and what rules can prove of them.

It is closed first, by itself. What stands here comes after and may fail or never happen: the end stays the end.
"""

from datetime import timedelta

from affidavit.incidents.context import Context
from affidavit.incidents.degraded import Degraded, gather_context
from affidavit.incidents.diagnostician import AgentResult, Outcome
from affidavit.incidents.ledger import Ledger
from affidavit.incidents.state import State
from affidavit.incidents.supervisor import Supervisor
from affidavit.incidents.verdicts import proven
from affidavit.ports import Put

_WHY = "every worker died before it was done; this rests on what they had recorded until then"


def keep_leftovers(closed: State, under: Supervisor) -> bool:
    """Whether anything was kept. `closed` is the incident as it was given up; one that was reopened keeps nothing."""
    known = under.contexts.get_context(closed.incident.incident_id)
    keys = _keys(closed, known)
    if under.degraded is None or len(keys) == len(known.ledger if known is not None else ()):
        return False
    write = _write(closed, known, keys, under, under.degraded(closed.incident))
    return under.states.add_after_end(closed, [write])


def _keys(closed: State, known: Context | None) -> tuple[str, ...]:
    """Of earlier attempts that ended by themselves, then of those that died: the newest answer of a tool is last."""
    return tuple(dict.fromkeys((*(known.ledger if known is not None else ()), *closed.ledger)))


def _write(closed: State, known: Context | None, keys: tuple[str, ...], under: Supervisor, degraded: Degraded) -> Put:
    ledger = Ledger(under.records.entries(keys))
    best = degraded.conclude(closed.incident, ledger.entries)
    result = AgentResult(
        outcome=Outcome.STALE,
        token_usage=closed.spent,
        best_so_far=proven(best, ledger.entries, under.source),
        reasoning_chain=known.reasoning_chain if known is not None else (),
        llm_calls=known.llm_calls if known is not None else 0,
        tools_called=tuple(entry.tool for entry in ledger.entries),
        gaps=(_WHY,),
    )
    # Nobody is asked anything: a question may be what they died of.
    evidence = gather_context(closed.incident, degraded.tools, ledger, time_left=timedelta)
    return under.contexts.write_of(closed, result, keys, evidence=evidence)
