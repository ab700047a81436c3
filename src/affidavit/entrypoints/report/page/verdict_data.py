"""Makes the page's JSON of the verdict: causes with their effects, then what is unexplained."""

from datetime import datetime
from typing import Any

from affidavit.evidence.node_verdict import NodeVerdict, RootCause, Unexplained

# At most so many effects of a cause are listed; the count is exact.
_IDS = 60
_CAUSES = 20


def verdict_data(verdict: NodeVerdict | None) -> dict[str, Any] | None:
    if verdict is None:
        return None
    return {
        "state": verdict.state.value,
        "summary": verdict.summary,
        "faults": verdict.faults,
        "confidence": verdict.confidence.level.value,
        "causes": [_cause(cause) for cause in verdict.root_causes[:_CAUSES]],
        "unexplained": [_unexplained(entry) for entry in verdict.unexplained[:_CAUSES]],
        "alternatives": [
            {"cause": other.cause, "why": other.why_less_likely, "ids": other.finding_ids[:_IDS]}
            for other in verdict.alternatives
        ],
    }


def _cause(cause: RootCause) -> dict[str, Any]:
    return {
        "cause": cause.cause,
        "on": cause.on,
        "since": _moment(cause.since),
        "until": _moment(cause.until),
        "isOpen": cause.still_open,
        "ids": cause.evidence[:_IDS],
        "explains": cause.explains[:_IDS],
        "explained": len(cause.explains),
        "how": [[link.cause, link.effect, link.how] for link in cause.proof[:_IDS]],
        "confidence": cause.confidence.value,
        "step": cause.first_step,
    }


def _unexplained(entry: Unexplained) -> dict[str, Any]:
    return {
        "what": entry.what,
        "ids": entry.finding_ids[:_IDS],
        "isUnknown": entry.cause_unknown,
        "couldBe": [each.cause for each in entry.could_be],
        "absent": entry.absent,
    }


def _moment(value: datetime | None) -> int | None:
    return round(value.timestamp() * 1000) if value is not None else None
