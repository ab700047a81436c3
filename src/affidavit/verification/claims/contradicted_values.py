"""Refuses a sentence that says the opposite of the value it stands beside."""

import re
from collections.abc import Iterator, Mapping, Sequence

from affidavit.evidence.diagnosis import EvidencePointer
from affidavit.ports.json import JsonValue
from affidavit.verification.canonical_json import canonical
from affidavit.verification.claims.sentence_meanings import says

_REMOVING = re.compile(r"^(Delete|Detach|Revoke|Remove|Disassociate|Deregister|Disable|Stop|Terminate)[A-Z]")
_ADDING = re.compile(r"^(Create|Attach|Authorize|Add|Associate|Enable)[A-Z]")
# Words that a value of this text rules out.
_STATES: Mapping[str, tuple[str, ...]] = {
    "allowed": ("denies",),
    "implicitdeny": ("allows", "explicit"),
    "explicitdeny": ("allows", "implicit"),
    "allow": ("denies",),
    "deny": ("allows",),
    "active": ("inactive",),
    "available": ("inactive",),
    "successful": ("inactive",),
}


def doubtful_value(pointer: EvidencePointer) -> str | None:
    """Why a program cannot tell whether the sentence fits the value, or None. Such a claim stays open."""
    value, sentence = pointer.value, pointer.interpretation
    if value is False and not says("zero", sentence) and not says("incomplete", sentence):
        return "the value is false, and the sentence does not say so"
    if value is True and says("zero", sentence):
        return "the value is true, and the sentence denies something"
    if isinstance(value, Mapping | list) and value and not _shares_a_word(value, sentence):
        return "the sentence shares no word with the value"
    return None


def _shares_a_word(value: JsonValue, sentence: str) -> bool:
    held = {word.casefold() for word in re.findall(r"\w{3,}", canonical(value))}
    spoken = {word.casefold() for word in re.findall(r"\w{3,}", sentence)}
    return bool(held & spoken) or says("zero", sentence) or "missing" in spoken


def contradicted_value(pointer: EvidencePointer) -> Iterator[str]:
    for problem in _problems(pointer.value, pointer.field, pointer.interpretation):
        yield f"the value says otherwise: {problem}"


def _problems(value: JsonValue, field: str, sentence: str) -> Iterator[str]:
    if value and _denies_field(field, sentence):
        yield f"{field} is there, and the sentence denies it"
    if isinstance(value, bool):
        yield from _of_boolean(value, field, sentence)
    elif isinstance(value, int | float):
        yield from _of_number(value, field, sentence)
    elif isinstance(value, str):
        yield from _of_text(value, sentence)
    elif _is_empty(value) and says("asserts", sentence) and not says("empty", sentence):
        yield f"{field} is empty, and the sentence speaks of something that is there"


def _denies_field(field: str, sentence: str) -> bool:
    """`no egress` beside a rule of `/egress`."""
    words = {word.rstrip("s") for word in re.findall(r"[a-z]{4,}", field.casefold())} - {
        "event",
        "message",
        "metric",
        "error",
    }
    denied = re.findall(
        r"(?i)\b(?:permits?|allows?|has|have|lists?|holds?|is|are) no ([a-z]{4,})(?: rules?)?\s*[.,;]?$", sentence
    )
    return any(word.casefold().rstrip("s") in words for word in denied)


def _of_boolean(value: bool, field: str, sentence: str) -> Iterator[str]:
    is_about_reading = field.endswith(("is_complete", "truncated"))
    is_whole = value is not field.endswith("truncated")
    if is_about_reading and not is_whole and says("complete", sentence):
        yield f"{field} tells that not everything was read"
    if is_about_reading and is_whole and says("incomplete", sentence):
        yield f"{field} tells that everything was read"


def _of_number(value: float, field: str, sentence: str) -> Iterator[str]:
    if value:
        return
    if "concurren" in field.casefold() and says("unlimited", sentence):
        yield f"{field} is 0, which is a limit"
    elif says("asserts", sentence) and not says("zero", sentence):
        yield f"{field} is 0, and the sentence speaks of something that happened or is set"


def _of_text(value: str, sentence: str) -> Iterator[str]:
    for meaning in _STATES.get(value.strip().casefold(), ()):
        if says(meaning, sentence):
            yield f"it is {value!r}"
    if _REMOVING.match(value) and says("added", sentence):
        yield f"{value} takes something away"
    if _ADDING.match(value) and says("removed", sentence):
        yield f"{value} adds something"
    if says("bad", value) and says("good", sentence):
        yield "it tells of a failure, and the sentence of success"
    for part, whole in re.findall(r"\b(\d+) (?:out )?of (\d+)\b", value):
        if part != whole and re.search(rf"(?i)\b(all|every one of) (the )?{whole}\b", sentence):
            yield f"it is {part} of {whole}"


def _is_empty(value: JsonValue) -> bool:
    if isinstance(value, Mapping | Sequence) and not isinstance(value, str):
        return len(value) == 0
    return value is None
