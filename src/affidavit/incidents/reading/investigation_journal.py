"""The journal of an investigation: each question that was asked, how large its answer was, and when it was recorded."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from affidavit.errors import EvidenceUnavailable
from affidavit.incidents.store.blobs import Records
from affidavit.ports.json import JsonValue
from affidavit.ports.object_store import ObjectStore


@dataclass(frozen=True, kw_only=True, slots=True)
class JournalStep:
    """`problem` says why an answer cannot be shown, or what the tool itself could not see."""

    number: int
    entry_id: str
    tool: str
    arguments: Mapping[str, JsonValue]
    size: int
    at: datetime | None
    sha256: str
    problem: str = ""


def journal(keys: tuple[str, ...], records: Records, objects: ObjectStore, *, after: int = 0) -> list[JournalStep]:
    """The steps behind the first `after`. An answer that is gone or changed is a step with its problem."""
    return [_step(number, key, records, objects) for number, key in enumerate(keys[after:], start=after + 1)]


def _step(number: int, key: str, records: Records, objects: ObjectStore) -> JournalStep:
    stored = objects.head(key)
    size, at = (stored.size, stored.modified) if stored is not None else (0, None)
    digest = key.rpartition("/")[2].removesuffix(".json")
    try:
        entry = records.entries([key])[0]
    except EvidenceUnavailable as error:
        return JournalStep(
            number=number, entry_id="", tool="", arguments={}, size=size, at=at, sha256=digest, problem=str(error)
        )
    answer = entry.answer
    failure = answer.get("error") if isinstance(answer, Mapping) else None
    return JournalStep(
        number=number,
        entry_id=entry.entry_id,
        tool=entry.tool,
        arguments=entry.arguments,
        size=size,
        at=at,
        sha256=digest,
        problem=f"could not look: {failure}" if failure else "",
    )
