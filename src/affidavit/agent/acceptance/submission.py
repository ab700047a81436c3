"""Reads a diagnosis that a chat model hands in, verifies it against the ledger and accepts it only if it holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from affidavit.evidence.citation_check import ByteSource
from affidavit.evidence.diagnosis import Diagnosis, ProducedBy
from affidavit.verification.assess import assess, graded
from affidavit.verification.ledger_entry import Entry
from affidavit.verification.names_from_incident import About

# Ours to say, whatever a submission claims.
_NOT_TAKEN = ("grade", "open_obligations")


@dataclass(frozen=True, kw_only=True)
class Judged:
    """Either the diagnosis, or what is wrong with it."""

    diagnosis: Diagnosis | None = None
    problems: tuple[str, ...] = ()


def judge(
    arguments: Mapping[str, Any],
    entries: Sequence[Entry],
    about: About,
    *,
    source: ByteSource | None = None,
    by: ProducedBy = ProducedBy.CHAT_MODEL,
) -> Judged:
    given = {name: value for name, value in arguments.items() if name not in _NOT_TAKEN}
    try:
        claimed = Diagnosis.model_validate({**given, "produced_by": by})
    except ValidationError as error:
        return Judged(problems=tuple(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:20]))
    found = assess(claimed, entries, source, about)
    if not found.holds:
        return Judged(problems=found.problems)
    return Judged(diagnosis=graded(claimed, entries, found))
