"""A diagnosis the chat model hands in: read, verified against the ledger, and taken only if it holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from affidavit.agent.certainty import certainty
from affidavit.agent.hearsay import hearsay
from affidavit.evidence.citation import ByteSource
from affidavit.evidence.confidence import Level
from affidavit.evidence.diagnosis import Diagnosis, FaultType, ProducedBy
from affidavit.verification.entry import Entry
from affidavit.verification.verify import verify


@dataclass(frozen=True, kw_only=True)
class Judged:
    """Either the diagnosis, or what is wrong with it."""

    diagnosis: Diagnosis | None = None
    problems: tuple[str, ...] = ()


def judge(
    arguments: Mapping[str, Any],
    entries: Sequence[Entry],
    functions: frozenset[str],
    *,
    alert: str = "",
    source: ByteSource | None = None,
) -> Judged:
    try:
        claimed = Diagnosis.model_validate({**arguments, "produced_by": ProducedBy.CHAT_MODEL})
    except ValidationError as error:
        return Judged(problems=tuple(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:20]))
    problems = (
        *verify(claimed, entries, source).all_problems,
        *_unseen(claimed, entries, functions),
        *hearsay(claimed, entries, functions, alert),
    )
    if problems:
        return Judged(problems=problems)
    return Judged(diagnosis=_finished(claimed, entries))


def _unseen(claimed: Diagnosis, entries: Sequence[Entry], functions: frozenset[str]) -> list[str]:
    """Names that no recorded answer holds: a resource that nobody saw cannot be affected."""
    seen = "\n".join(_texts(entry.answer) for entry in entries)
    return [
        f"affected_resources[{number}]: no tool answer names {resource[:200]!r}"
        for number, resource in enumerate(claimed.affected_resources)
        if resource not in functions and resource not in seen
    ]


def _texts(value: object) -> str:
    """Every text inside, so that a name is found however JSON would escape it."""
    if isinstance(value, Mapping):
        return "\n".join(f"{key}\n{_texts(inner)}" for key, inner in value.items())  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
    if isinstance(value, list | tuple):
        return "\n".join(_texts(inner) for inner in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
    return str(value)


def _finished(claimed: Diagnosis, entries: Sequence[Entry]) -> Diagnosis:
    """How sure it is, is ours to say; the chat model may only be less sure."""
    computed = certainty(entries, evidence=len(claimed.evidence), gaps=claimed.gaps)
    order = [Level.LOW, Level.MEDIUM, Level.HIGH]
    level = min(computed.level, claimed.confidence.level, key=order.index)
    if FaultType.UNKNOWN in claimed.fault_types:
        level = Level.LOW
    return claimed.model_copy(update={"confidence": _with_level(computed, level)})


def _with_level(computed: Any, level: Level) -> Any:
    return type(computed)(level=level, basis=computed.basis, gaps=computed.gaps)
