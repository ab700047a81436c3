"""A claim that something is *not* there holds only in an answer that looked everywhere it could have been."""

import re
from collections.abc import Mapping, Sequence

from affidavit.evidence.diagnosis import Claim, EvidencePointer
from affidavit.ports.json import JsonValue
from affidavit.verification.claims.sentence_meanings import says
from affidavit.verification.ledger_entry import Entry
from affidavit.verification.negation import denies

_SAYS_SO = re.compile(r"\b(no|not|none|never|nothing|zero|without|denied|missing|absent|absence)\b|n't\b", re.I)
# How far a claim reaches: beyond the one value that it cites.
_REACHES = re.compile(
    r"\b(earlier|before|previous\w*|prior|past|else|elsewhere|other\w*|any\w*|ever|never|every|all|always|rest|history|"
    r"logs?|between|since|again|only|sole|solely|single|apart|clean|entirely)\b",
    re.I,
)
# What happens at some time, so that only something that watched for a while can say it did not.
_MISHAPS = re.compile(r"throttl|time-?outs?\b|timed out|out of memory|errors?\b|fail|crash|exception|restart", re.I)
# A status that is itself the opposite of trouble.
_GOOD = re.compile(r"succe|allowed|active|available|enabled|\bok\b", re.I)
_WATCHED = frozenset(("events", "window", "is_complete", "coverage", "coverage_report"))
_FAULTS = re.compile(r"throttl|time.?out|timed out|memory|fail|error|denied|denial|crash|concurren|restart", re.I)
# Beginnings of words, so that "policies" and "policy" are one.
_STEM = re.compile(r"[A-Za-z]{5}")


def unproven_absence(pointer: EvidencePointer, entry: Entry) -> list[str]:
    if not claims_absence(pointer):
        return []
    return [
        f"it claims that something is absent, but {reason}: name it in gaps instead"
        for reason in (*_shortfalls(pointer, entry.answer), *_unwatched(pointer, entry.answer))
    ]


def claims_absence(pointer: EvidencePointer) -> bool:
    """A typed claim, an empty value, or words of absence over a value that does not say so itself."""
    if pointer.claim is Claim.ABSENT or _is_empty(pointer.value):
        return True
    if pointer.value is False and says("incomplete", pointer.interpretation):
        return False  # that something was not read is what the value itself says
    if not denies(pointer.interpretation, quoting=pointer.value if isinstance(pointer.value, str) else ""):
        return False
    says_so = isinstance(pointer.value, str) and _SAYS_SO.search(pointer.value) is not None
    return not says_so or _is_about_more(pointer.interpretation, str(pointer.value))


def _is_about_more(interpretation: str, value: str) -> bool:
    """It speaks of more than the value does: of other times, or of faults that the value does not name."""
    faults = {found.group().lower() for found in _FAULTS.finditer(interpretation)}
    return _REACHES.search(interpretation) is not None or any(fault not in value.lower() for fault in faults)


def _shortfalls(pointer: EvidencePointer, answer: JsonValue) -> list[str]:
    """Why this answer did not cover everything the claim is about; empty when it did."""
    if not isinstance(answer, Mapping):
        return ["the answer does not say what it covered"]
    found = ["the tool reported an error"] if answer.get("error") else []
    if answer.get("truncated") is True:
        found.append("the answer is cut")
    if answer.get("is_complete") is False or ("events" in answer and answer.get("is_complete") is not True):
        found.append("the answer did not cover its whole window")
    return [*found, *_cut_messages(answer), *_unscanned(answer), *_unread(pointer, answer.get("not_read"))]


def _cut_messages(answer: Mapping[str, JsonValue]) -> list[str]:
    events = answer.get("events")
    listed = events if isinstance(events, Sequence) and not isinstance(events, str) else ()
    is_cut = any(isinstance(event, Mapping) and event.get("omitted_characters") for event in listed)
    return ["the end of a long message was left out"] if is_cut else []


def _unwatched(pointer: EvidencePointer, answer: JsonValue) -> list[str]:
    """Mishaps that are denied over a value which has nothing to do with them, or which counts some."""
    is_watch = isinstance(answer, Mapping) and not _WATCHED.isdisjoint(answer)
    if is_watch or _MISHAPS.search(pointer.interpretation) is None:
        return []
    if pointer.value is None and "metrics" in pointer.field.casefold():
        return ["null means that nothing was counted, not that nothing happened"]
    if isinstance(pointer.value, bool | Mapping | list) or not pointer.value:
        return []
    is_good = isinstance(pointer.value, str) and (_GOOD.search(pointer.value) or _SAYS_SO.search(pointer.value))
    return [] if is_good else ["the value does not show that, and the answer watched no stretch of time"]


def _unscanned(answer: Mapping[str, JsonValue]) -> list[str]:
    report = answer.get("coverage_report", answer.get("coverage"))
    if isinstance(report, Mapping) and report.get("files_scanned") != report.get("total_files"):
        return ["files were left unread (see coverage)"]
    return []


def _unread(pointer: EvidencePointer, not_read: JsonValue) -> list[str]:
    """Parts that could not be read and that the claim, by its words, may be about."""
    if not isinstance(not_read, Sequence) or isinstance(not_read, str):
        return []
    about = _stems(f"{pointer.field} {pointer.interpretation}")
    parts = [str(part.get("what", "")) for part in not_read if isinstance(part, Mapping)]
    return [f"{part} could not be read" for part in parts if _stems(part) & about]


def _stems(text: str) -> set[str]:
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", text)
    return {word[:5].lower() for word in words if _STEM.match(word)}


def _is_empty(value: JsonValue) -> bool:
    """Nothing, however it is wrapped: spaces, a list of nothing, an object whose every field is nothing."""
    if isinstance(value, str):
        return not value.strip()
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, Sequence) else None
    return value is None or (inner is not None and all(_is_empty(one) for one in inner))
