"""Everything that is wrong with the free text of a diagnosis, and what in it nobody can check."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from affidavit.evidence.diagnosis import Diagnosis, ProducedBy
from affidavit.verification.text.diagnosis_passages import Passage, Place, passages
from affidavit.verification.text.numbers import number_findings
from affidavit.verification.text.recorded_answers import Answers
from affidavit.verification.text.times import time_findings
from affidavit.verification.text.unknown_names import names_from_orders, unknown_names


@dataclass(frozen=True, kw_only=True)
class TextFindings:
    """`problems` refuse the diagnosis; `unchecked` is said, and no answer shows or contradicts it."""

    problems: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = field(default=())


def text_findings(diagnosis: Diagnosis, answers: Answers) -> TextFindings:
    # The words of rules are our own vocabulary: they fill in only what they read.
    is_told = diagnosis.produced_by is ProducedBy.CHAT_MODEL
    problems: list[str] = []
    unchecked: list[str] = []
    for passage in passages(diagnosis):
        problems.extend(f"{passage.where}: {problem}" for problem in _names(passage, answers, is_of_chat_model=is_told))
        if is_told and passage.place in (Place.CAUSE, Place.INTERPRETATION):
            for found in (*number_findings(passage.text, answers), *time_findings(passage.text, answers)):
                (problems if found.is_refused else unchecked).append(f"{passage.where}: {found.says}")
    return TextFindings(problems=tuple(problems), unchecked=tuple(unchecked))


def _names(passage: Passage, answers: Answers, *, is_of_chat_model: bool) -> Iterator[str]:
    yield from names_from_orders(passage, answers)
    if passage.place is Place.RESOURCE:
        if not answers.holds(passage.text):
            yield f"no tool answer names {passage.text[:200]!r}"
    elif is_of_chat_model:
        yield from unknown_names(passage, answers)
