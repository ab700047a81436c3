"""Saves an investigation's progress, so that after a crash it goes on instead of starting over."""

from affidavit.evidence.diagnosis import TokenUsage
from affidavit.incidents.attempt.answer_ledger import Ledger
from affidavit.incidents.store.blobs import Records
from affidavit.incidents.store.incident_leases import IncidentStates
from affidavit.incidents.store.state import Lease
from affidavit.ports.json import JsonValue


class StoredProgress:
    """A Checkpoint under a lease. Each save is also a sign of life."""

    def __init__(self, lease: Lease, ledger: Ledger, *, states: IncidentStates, records: Records) -> None:
        self._lease, self._ledger, self._states, self._records = lease, ledger, states, records
        self._checkpoint = lease.checkpoint
        self._kept = dict(zip((entry.sha256 for entry in ledger.entries), lease.ledger, strict=True))

    @property
    def ledger_keys(self) -> tuple[str, ...]:
        """Object keys of everything recorded, in order."""
        self._keep_answers()
        return tuple(self._kept.values())

    def load(self) -> JsonValue:
        return None if self._checkpoint is None else self._records.read(self._checkpoint)

    def save(self, state: JsonValue, usage: TokenUsage) -> None:
        self._keep_answers()
        self._checkpoint = self._records.keep(self._lease.incident_id, "progress", state)
        progress: dict[str, JsonValue] = {
            "checkpoint": self._checkpoint,
            "ledger": list(self._kept.values()),
            "token_usage": usage.model_dump(),
        }
        self._states.touch_updated_at(self._lease, progress)

    def _keep_answers(self) -> None:
        for entry in self._ledger.entries:
            if entry.sha256 not in self._kept:
                self._kept[entry.sha256] = self._records.keep_entry(self._lease.incident_id, entry)


def ledger_of(lease: Lease, records: Records) -> Ledger:
    """What earlier attempts recorded."""
    return Ledger(records.entries(lease.ledger))
