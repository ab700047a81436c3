"""A claim that something is *not* there holds only in an answer that looked everywhere it could have been."""

import re
from collections.abc import Mapping, Sequence

from affidavit.evidence.diagnosis import EvidencePointer
from affidavit.ports import JsonValue
from affidavit.verification.entry import Entry

_NEGATION = re.compile(r"\b(no|not|none|never|nothing|zero|without|denied|missing|absent|absence)\b|n't\b", re.I)
_DENIES = re.compile(
    r"^\W*(no|none|nothing|never|zero|absence of)\b|\b(there (is|are|was|were) (no|none|nothing)|"
    r"(did|does|do|has|have|was|were) (not|never) (happen|occur|appear|show|see|seen|log|logged|contain|throttle[d]?))",
    re.I,
)


def unproven_absence(pointer: EvidencePointer, entry: Entry) -> list[str]:
    if not claims_absence(pointer):
        return []
    return [
        f"it claims that something is absent, but {reason}: say it in gaps, or ask for the whole window"
        for reason in shortfalls(entry.answer)
    ]


def claims_absence(pointer: EvidencePointer) -> bool:
    """An empty value, or words of absence over a value that does not say so itself."""
    if _is_empty(pointer.value):
        return True
    says_so_itself = isinstance(pointer.value, str) and _NEGATION.search(pointer.value) is not None
    return not says_so_itself and _DENIES.search(pointer.interpretation) is not None


def shortfalls(answer: JsonValue) -> list[str]:
    """Why this answer did not cover everything it was asked about; empty when it did."""
    if not isinstance(answer, Mapping):
        return ["the answer does not say what it covered"]
    found = [f"{name} says the answer is cut" for name in ("truncated", "is_truncated") if answer.get(name) is True]
    if answer.get("error"):
        found.append("the tool reported an error")
    found += [
        f"{name} is false" for name in ("complete", "is_complete", "window_complete") if answer.get(name) is False
    ]
    if "events" in answer and not _says_complete(answer):
        found.append("the answer does not say that it covered its whole window")
    return found + _inner_shortfalls(answer)


def _says_complete(answer: Mapping[str, JsonValue]) -> bool:
    places = [answer, *(inner for name in ("window", "coverage") if isinstance(inner := answer.get(name), Mapping))]
    names = ("complete", "is_complete", "window_complete")
    return any(place.get(name) is True for place in places for name in names)


def _inner_shortfalls(answer: Mapping[str, JsonValue]) -> list[str]:
    found: list[str] = []
    for name in ("window", "coverage"):
        inner = answer.get(name)
        if isinstance(inner, Mapping) and any(inner.get(key) is False for key in ("complete", "is_complete")):
            found.append(f"{name} says it is not complete")
    report = answer.get("coverage_report")
    if isinstance(report, Mapping) and report.get("files_scanned") != report.get("total_files"):
        found.append("coverage_report lists files that were not read")
    return found


def _is_empty(value: JsonValue) -> bool:
    return value is None or value == "" or (isinstance(value, Mapping | Sequence) and len(value) == 0)
