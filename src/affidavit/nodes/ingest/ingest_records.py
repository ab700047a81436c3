"""What became of each archive: indexed, or failed and why. Kept in the state table for those who wait for it."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from affidavit.errors import AffidavitError
from affidavit.ports.clock import Clock
from affidavit.ports.json import Item
from affidavit.ports.table import Key, Put, Table

KEPT = timedelta(days=7)
UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class IngestRecord:
    """`fingerprint` tells one upload from the next under the same name; `index_id` is None after a failure."""

    source: str
    fingerprint: str
    recorded_at: datetime
    index_id: str | None
    reason: str = ""
    hint: str = ""
    doubt: str = ""

    @property
    def is_failure(self) -> bool:
        return self.index_id is None


def fingerprint_of(*parts: object) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def record_indexed(
    state: Table,
    clock: Clock,
    *,
    instance_id: str,
    source: str,
    fingerprint: str,
    index_id: str,
    knowledge: str,
    doubt: str = "",
) -> None:
    """Also under the fingerprint, so that the same upload with the same rules need not be read again."""
    outcome = {"fingerprint": fingerprint, "index_id": index_id, "instance_id": instance_id, "knowledge": knowledge}
    outcome |= {"doubt": doubt} if doubt else {}
    _put(state, clock, _place(instance_id, source), {"source": source, **outcome})
    _put(state, clock, _receipt(fingerprint), {"source": source, **outcome})


def record_failed(
    state: Table, clock: Clock, *, instance_id: str | None, source: str, fingerprint: str, error: AffidavitError
) -> None:
    outcome = {"source": source, "fingerprint": fingerprint, "reason": str(error), "hint": error.hint}
    _put(state, clock, _place(instance_id or UNKNOWN, source), outcome)
    _put(state, clock, _refusal(fingerprint), outcome)


def outcome_of(state: Table, fingerprint: str) -> IngestRecord | None:
    """What became of this very upload, whatever came later under the same name. An index makes up for failures."""
    item = state.get(_receipt(fingerprint)) or state.get(_refusal(fingerprint))
    return _record(item) if item is not None else None


def receipt(state: Table, fingerprint: str) -> Item | None:
    return state.get(_receipt(fingerprint))


def record_of(state: Table, instance_id: str | None, source: str) -> IngestRecord | None:
    """What became of the last upload under this name (an archive's key)."""
    item = state.get(_place(instance_id or UNKNOWN, source))
    return _record(item) if item is not None else None


def records_of(state: Table, instance_id: str) -> list[IngestRecord]:
    return [_record(item) for item in state.query(f"INGEST#{instance_id}")]


def last_failure(state: Table, instance_id: str) -> IngestRecord | None:
    failed = [record for record in records_of(state, instance_id) if record.is_failure]
    return max(failed, key=lambda record: record.recorded_at, default=None)


def _put(state: Table, clock: Clock, key: Key, values: Mapping[str, str]) -> None:
    now = clock.now()
    kept = {"recorded_at": now.isoformat(), "ttl": int((now + KEPT).timestamp())}
    state.write(Put(item={"pk": key.pk, "sk": key.sk, **values, **kept}))


def _place(instance_id: str, source: str) -> Key:
    return Key(pk=f"INGEST#{instance_id}", sk=f"ARCHIVE#{source}")


def _receipt(fingerprint: str) -> Key:
    return Key(pk=f"RECEIPT#{fingerprint}", sk="RECEIPT")


def _refusal(fingerprint: str) -> Key:
    return Key(pk=f"RECEIPT#{fingerprint}", sk="REFUSAL")


def _record(item: Item) -> IngestRecord:
    index_id = item.get("index_id")
    return IngestRecord(
        source=str(item["source"]),
        fingerprint=str(item["fingerprint"]),
        recorded_at=datetime.fromisoformat(str(item["recorded_at"])),
        index_id=str(index_id) if index_id is not None else None,
        reason=str(item.get("reason", "")),
        hint=str(item.get("hint", "")),
        doubt=str(item.get("doubt", "")),
    )
