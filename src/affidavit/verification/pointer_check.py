"""The verdict on a diagnosis: every pointer re-read from the recorded answers, every quoted log line from its bytes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from affidavit.evidence.citation_check import ByteSource
from affidavit.evidence.diagnosis import Diagnosis, EvidencePointer, RemediationStep
from affidavit.ports.json import JsonValue
from affidavit.verification.absence import unproven_absence
from affidavit.verification.canonical_json import canonical
from affidavit.verification.claims.contradicted_values import contradicted_value
from affidavit.verification.claims.counts import miscounted
from affidavit.verification.claims.misleading_quotes import cut_quote
from affidavit.verification.ledger_entry import Entry
from affidavit.verification.pointer_lookup import Located, NotLocated, locate
from affidavit.verification.quoted_lines import unread_quotes

# A shorter part of a text is found almost anywhere.
SHORTEST_QUOTE = 8
# A table item holds 400 KB in all; a diagnosis that copies whole answers quotes too much.
MOST_DIAGNOSIS_BYTES = 100_000


@dataclass(frozen=True, kw_only=True, slots=True)
class PointerVerdict:
    """`entry_id` names the recorded answer that shows the value; None when none does."""

    index: int
    pointer: EvidencePointer
    entry_id: str | None = None
    problems: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return not self.problems


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """`problems` are about the diagnosis as a whole and its plan; those of a pointer stand with it."""

    pointers: tuple[PointerVerdict, ...]
    problems: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return not self.problems and all(pointer.holds for pointer in self.pointers)

    @property
    def all_problems(self) -> tuple[str, ...]:
        """Everything that failed, each naming its place: what a chat model is sent back."""
        of_pointers = (f"evidence[{one.index}]: {problem}" for one in self.pointers for problem in one.problems)
        return (*of_pointers, *self.problems)


def verify(diagnosis: Diagnosis, entries: Sequence[Entry], source: ByteSource | None = None) -> Verdict:
    """Judge a diagnosis by what was recorded. `source` re-reads quoted log lines; without one they do not hold."""
    pointers = tuple(verify_pointer(index, one, entries, source) for index, one in enumerate(diagnosis.evidence))
    problems = [] if pointers else ["evidence is empty: a diagnosis needs at least one value that shows it"]
    for index, step in enumerate(diagnosis.remediation_plan):
        problems.extend(f"remediation_plan[{index}]: {problem}" for problem in _baseless(step, len(pointers)))
    if (size := len(diagnosis.model_dump_json().encode())) > MOST_DIAGNOSIS_BYTES:
        problems.append(f"the diagnosis has {size} bytes, more than {MOST_DIAGNOSIS_BYTES}: quote less of each value")
    return Verdict(pointers=pointers, problems=tuple(problems))


def verify_pointer(
    index: int, pointer: EvidencePointer, entries: Sequence[Entry], source: ByteSource | None
) -> PointerVerdict:
    """A tool may have been called several times: the pointer holds when one of its answers shows the value."""
    called = [entry for entry in entries if entry.tool == pointer.tool]
    if not called:
        return PointerVerdict(
            index=index, pointer=pointer, problems=(f"{pointer.tool} was not called, so it showed nothing",)
        )
    # The newest answer first: when none holds, its problem is the one worth reading.
    attempts = [(entry, _problems(pointer, entry, source)) for entry in reversed(called)]
    entry, problems = next((attempt for attempt in attempts if not attempt[1]), attempts[0])
    return PointerVerdict(
        index=index, pointer=pointer, entry_id=None if problems else entry.entry_id, problems=tuple(problems)
    )


def _problems(pointer: EvidencePointer, entry: Entry, source: ByteSource | None) -> list[str]:
    located = locate(pointer.field, entry.answer)
    if isinstance(located, NotLocated):
        return [located.reason]
    if not shows(located.value, pointer.value):
        return [_mismatch(pointer, located)]
    return [
        *_of_a_failure(located),
        *cut_quote(pointer, located.value),
        *contradicted_value(pointer),
        *miscounted(pointer),
        *unproven_absence(pointer, entry),
        *unread_quotes(located, source),
    ]


def _of_a_failure(located: Located) -> list[str]:
    """An error of the tool says what nobody could see. "Access denied" there is about the tool, not the function."""
    answer, *inside = located.path
    if not isinstance(answer, Mapping) or not answer.get("error"):
        return []
    if inside and inside[0] not in (answer["error"], answer.get("hint")):
        return []
    return ["it cites an error of the tool itself, which shows nothing of what was asked: name it in gaps instead"]


def shows(there: JsonValue, claimed: JsonValue) -> bool:
    """The same JSON value, or an exact part of a text that is long enough to mean something."""
    if isinstance(there, str) and isinstance(claimed, str):
        return claimed == there or (len(claimed) >= SHORTEST_QUOTE and claimed in there and not claimed.isspace())
    return canonical(there) == canonical(claimed)


def _mismatch(pointer: EvidencePointer, located: Located) -> str:
    there, claimed = located.value, pointer.value
    if isinstance(there, str) and isinstance(claimed, str) and claimed.isspace() and claimed in there:
        return "the quote holds nothing but spaces: quote words"
    if isinstance(there, str) and isinstance(claimed, str) and claimed in there:
        return f"the quote {claimed!r} is too short: quote at least {SHORTEST_QUOTE} characters"
    return f"{pointer.field or 'the whole answer'} is {_brief(there)}, not {_brief(claimed)}"


def _brief(value: JsonValue) -> str:
    text = canonical(value)
    return text if len(text) <= 200 else f"{text[:200]}… ({len(text)} characters)"


def _baseless(step: RemediationStep, evidence: int) -> list[str]:
    if not step.evidence_basis:
        return [f"{step.action!r} cites no evidence: evidence_basis needs at least one index"]
    wrong = sorted({index for index in step.evidence_basis if not 0 <= index < evidence})
    return [f"evidence_basis {index} is out of range: there are {evidence} pieces of evidence" for index in wrong]
