"""Writes the sentences of a verdict."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from affidavit.evidence.finding import FaultState, Finding
from affidavit.evidence.node_verdict import RootCause, Unexplained, VerdictState
from affidavit.verdict.seen_conditions import SeenCondition
from affidavit.verdict.unseen_causes import COMMAND

if TYPE_CHECKING:
    from affidavit.verdict.conclude import VerdictInput

_NAMES_SHOWN = 3
# What rules of last resort tell of, but for warnings.
_UNLISTED = frozenset(("unlisted.error", "unlisted.fatal", "unlisted.kernel", "unlisted.system", "unlisted.windows"))
# Kinds of names that tell a person where to look, the most useful first.
_TELLING = (
    "pod",
    "container",
    "victim",
    "process",
    "device",
    "mount",
    "unit",
    "subnet",
    "eni",
    "volume",
    "nameserver",
    "image",
    "role",
)


def summary_of(
    causes: Sequence[RootCause], unexplained: Sequence[Unexplained], state: VerdictState, evidence: "VerdictInput"
) -> str:
    if causes:
        return " ".join(_cause_sentence(cause) for cause in causes)
    unknown = [entry for entry in unexplained if entry.cause_unknown]
    if unknown:
        places = _absent(unknown)
        where = f" Look in {', '.join(places)}." if places else ""
        return f"{unknown[0].what}, and the cause is not in this bundle.{where}"
    if unexplained:
        return f"{unexplained[0].what}; nothing else is seen to follow from it."
    looked = f"{_not_judged(evidence)}{len(evidence.files)} files were looked at"
    if state is VerdictState.PLANNED:
        return f"Only planned stops and what came of them were found; {looked}."
    if state is VerdictState.STARTUP:
        return f"Only the usual errors of a start were found, and they stopped; {looked}."
    if state is VerdictState.OVER:
        return f"What was found is over; {looked}."
    return (
        f"No known fault of medium severity or above was found; {looked}, which says nothing about what is not there."
    )


def unjudged(findings: Iterable[Finding]) -> list[str]:
    """Findings of errors in words that no rule knows: they were seen, and nobody can say what they mean."""
    return [
        finding.finding_id
        for finding in findings
        if finding.signal in _UNLISTED and finding.state not in (FaultState.STARTUP, FaultState.PLANNED)
    ]


def _not_judged(evidence: "VerdictInput") -> str:
    found = unjudged(evidence.findings)
    more = f" and {len(found) - _NAMES_SHOWN} more" if len(found) > _NAMES_SHOWN else ""
    return (
        f"errors in words that no rule knows are not judged ({', '.join(found[:_NAMES_SHOWN])}{more}); "
        if found
        else ""
    )


def _cause_sentence(cause: RootCause) -> str:
    on = f" ({cause.on})" if cause.on else ""
    since = f" since {_moment(cause.since)}" if cause.since is not None else ", start unknown"
    end = "" if cause.still_open or cause.until is None else f" until {_moment(cause.until)}, over"
    count = len(cause.explains)
    explained = f"; it explains {count} other finding{'' if count == 1 else 's'}" if count else ""
    return f"{cause.cause}{on}{since}{end}{explained}."


def _absent(unknown: Sequence[Unexplained]) -> list[str]:
    places = [place for entry in unknown for place in (entry.absent or entry.look_in)]
    return list(dict.fromkeys(place.removeprefix(COMMAND) for place in places))[:_NAMES_SHOWN]


def entity_line(seen: SeenCondition) -> str | None:
    """The names in lines of the fault, such as `pod prod/api-7f`."""
    for kind in _TELLING:
        names = sorted(seen.names(kind))
        if names:
            more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
            return f"{kind} {', '.join(names[:_NAMES_SHOWN])}{more}"
    return None


def _moment(value: datetime) -> str:
    return f"{value:%Y-%m-%d %H:%M:%S} UTC"
