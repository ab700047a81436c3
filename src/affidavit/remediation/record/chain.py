"""Entries of a record: each carries the digest of the one before, so that no byte changes unseen."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from affidavit.ports.json import Item, JsonValue
from affidavit.remediation.plan.seal import canonical_bytes, sha256_of
from affidavit.remediation.record.phases import Phase

# What the first entry follows.
NOTHING = "0" * 64


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordEntry:
    """`by` is who did it: a person's identity, or the part of the program. `number` counts from 1."""

    plan_id: str
    number: int
    phase: Phase
    at: datetime
    by: str
    details: Item
    previous: str

    @property
    def content(self) -> dict[str, JsonValue]:
        return {
            "plan_id": self.plan_id,
            "number": self.number,
            "phase": self.phase.value,
            "at": self.at.isoformat(),
            "by": self.by,
            "details": self.details,
            "previous": self.previous,
        }

    @property
    def text(self) -> str:
        return canonical_bytes(self.content).decode()

    @property
    def sha256(self) -> str:
        return sha256_of(self.content)


def entry_from_text(text: str) -> RecordEntry:
    """Raises ValueError or KeyError when it is no entry."""
    raw: dict[str, Any] = json.loads(text)
    return RecordEntry(
        plan_id=str(raw["plan_id"]),
        number=int(raw["number"]),
        phase=Phase(raw["phase"]),
        at=datetime.fromisoformat(raw["at"]),
        by=str(raw["by"]),
        details=dict(raw["details"]),
        previous=str(raw["previous"]),
    )


def broken_links(plan_id: str, texts: Sequence[tuple[str, str]]) -> Iterator[str]:
    """What is wrong with a chain of (text, digest) as stored, in words; nothing when it holds."""
    previous, phase = NOTHING, None
    for number, (text, sha256) in enumerate(texts, start=1):
        try:
            entry = entry_from_text(text)
        except (ValueError, KeyError, TypeError):
            yield f"entry {number} cannot be read"
            return
        if entry.text != text or entry.sha256 != sha256:
            yield f"entry {number} is not what its digest says: it was changed after it was written"
        if entry.number != number or entry.plan_id != plan_id or entry.previous != previous:
            yield f"entry {number} does not follow the one before it"
        if phase is not None and not phase.may_become(entry.phase):
            yield f"entry {number}: {entry.phase} cannot follow {phase}"
        previous, phase = sha256, entry.phase
