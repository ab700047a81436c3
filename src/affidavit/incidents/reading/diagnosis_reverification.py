"""Proves a stored diagnosis again from what is stored, and remembers when and with what result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import BaseModel, ConfigDict

from affidavit.errors import EvidenceUnavailable
from affidavit.evidence.citation_check import ByteSource
from affidavit.incidents.attempt.answer_ledger import Entry
from affidavit.incidents.attempt.incident_for_verification import about_incident
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.store.blobs import Records
from affidavit.incidents.store.incident_leases import IncidentStates
from affidavit.incidents.store.state import IncidentState, not_known
from affidavit.incidents.store.stored_diagnoses import IncidentContext, IncidentContexts
from affidavit.ports.clock import Clock
from affidavit.ports.table import Key, Put, Table
from affidavit.verification.assess import Assessment, assess

CHANGED_SINCE = "the stored diagnosis is not the one that was recorded: it was changed since"


class FallenClaim(BaseModel):
    model_config = ConfigDict(frozen=True)

    index: int
    problems: tuple[str, ...]


class Reread(BaseModel):
    """How many claims of a diagnosis re-read, and when. `problems` are about the diagnosis as a whole."""

    model_config = ConfigDict(frozen=True)

    at: datetime
    total: int
    fallen: tuple[FallenClaim, ...] = ()
    problems: tuple[str, ...] = ()
    is_first: bool = False
    """From when the diagnosis was stored; nobody has asked since."""

    @property
    def held(self) -> int:
        return self.total - len(self.fallen)

    @property
    def holds(self) -> bool:
        return not self.fallen and not self.problems

    def fallen_at(self, index: int) -> FallenClaim | None:
        return next((one for one in self.fallen if one.index == index), None)


@dataclass(frozen=True, kw_only=True)
class ProvenAgain:
    """`is_as_recorded` is false when somebody changed the stored diagnosis; `was_open` when it was stored."""

    found: Assessment
    is_as_recorded: bool
    was_open: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Rereading:
    states: IncidentStates
    contexts: IncidentContexts
    records: Records
    source: ByteSource
    clock: Clock

    def prove(self, incident_id: IncidentId) -> ProvenAgain:
        """Raises NotFound, and EvidenceUnavailable when there is no diagnosis, or an answer is gone or changed."""
        state, context = self.states.get_state(incident_id), self.contexts.get_context(incident_id)
        if context is None and state is None:
            raise not_known(incident_id)
        if context is None or context.diagnosis is None:
            raise EvidenceUnavailable(
                f"incident {incident_id} has no diagnosis to verify",
                hint=f"`affidavit incident show {incident_id}` says why",
            )
        about = about_incident(state.incident) if state is not None else None
        found = assess(context.diagnosis, self.records.entries(context.ledger), self.source, about)
        return ProvenAgain(
            found=found,
            is_as_recorded=self.records.is_as_recorded(incident_id, context.diagnosis),
            was_open=context.diagnosis.open_obligations,
        )

    def reread(self, incident_id: IncidentId) -> Reread:
        """Like `prove`, told claim by claim; answers that are gone or changed fell all claims of their tool."""
        context = self.contexts.get_context(incident_id)
        if context is None or context.diagnosis is None:
            self.prove(incident_id)
            raise EvidenceUnavailable(f"incident {incident_id} has no diagnosis to verify")
        total, now = len(context.diagnosis.evidence), self.clock.now()
        entries, lost = self._readable(context)
        state = self.states.get_state(incident_id)
        found = assess(
            context.diagnosis, entries, self.source, about_incident(state.incident) if state is not None else None
        )
        fallen = tuple(
            FallenClaim(index=one.index, problems=tuple(dict.fromkeys((*one.problems, *lost))))
            for one in found.verdict.pointers
            if not one.holds
        )
        problems = list(found.verdict.problems) if not lost else [*lost]
        if not self.records.is_as_recorded(incident_id, context.diagnosis):
            problems.insert(0, CHANGED_SINCE)
        return Reread(at=now, total=total, fallen=fallen, problems=tuple(problems))

    def _readable(self, context: IncidentContext) -> tuple[Sequence[Entry], tuple[str, ...]]:
        entries: list[Entry] = []
        lost: list[str] = []
        for key in context.ledger:
            try:
                entries += self.records.entries([key])
            except EvidenceUnavailable as error:
                lost.append(str(error))
        return entries, tuple(lost)


class Rereads:
    """The last proof of each incident, beside its context."""

    def __init__(self, table: Table, clock: Clock, *, keep: timedelta) -> None:
        self._table, self._clock, self._keep = table, clock, keep

    def keep(self, incident_id: IncidentId, reread: Reread) -> None:
        ttl = int((self._clock.now() + self._keep).timestamp())
        key = _key(incident_id)
        self._table.write(Put(item={"pk": key.pk, "sk": key.sk, "reread": reread.model_dump_json(), "ttl": ttl}))

    def latest(self, state: IncidentState, context: IncidentContext | None) -> Reread | None:
        """What was proven last; without a later proof the one that let the diagnosis be stored."""
        if context is None or context.diagnosis is None or not state.status.has_diagnosis:
            return None
        item: Mapping[str, object] | None = self._table.get(_key(state.incident_id))
        if item is not None:
            return Reread.model_validate_json(str(item["reread"]))
        return Reread(at=state.updated_at, total=len(context.diagnosis.evidence), is_first=True)


def _key(incident_id: IncidentId) -> Key:
    return Key(pk=f"incident#{incident_id}", sk="reread")
