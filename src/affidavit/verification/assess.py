"""The whole judgement on a diagnosis: pointers, words, plan and what its conclusion needs. Then its grade.

Contradicted or invented: it has problems and is refused. True pointers, but something is open: `supported`.
Everything its conclusion needs is shown, and nothing stays unexplained: `proven`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from affidavit.evidence.citation_check import ByteSource
from affidavit.evidence.confidence import Level
from affidavit.evidence.diagnosis import Diagnosis, Grade
from affidavit.verification.confidence import with_confidence
from affidavit.verification.ledger_entry import Entry
from affidavit.verification.names_from_incident import About
from affidavit.verification.obligations.conclusion import judge_conclusion
from affidavit.verification.obligations.recorded_incident_facts import Situation
from affidavit.verification.plans.advisable_steps import gated, refused_steps
from affidavit.verification.pointer_check import Verdict, verify
from affidavit.verification.text.check import text_findings
from affidavit.verification.text.recorded_answers import read_answers


@dataclass(frozen=True, kw_only=True)
class Assessment:
    """`open_obligations` are what the conclusion needs and nothing shows."""

    verdict: Verdict
    open_obligations: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return self.verdict.holds

    @property
    def problems(self) -> tuple[str, ...]:
        """Everything that refuses the diagnosis, each naming its place: what a chat model is sent back."""
        return self.verdict.all_problems

    @property
    def grade(self) -> Grade | None:
        if not self.holds:
            return None
        return Grade.SUPPORTED if self.open_obligations else Grade.PROVEN


def assess(
    diagnosis: Diagnosis, entries: Sequence[Entry], source: ByteSource | None = None, about: About | None = None
) -> Assessment:
    """`source` re-reads quoted log lines; without one they do not hold."""
    verdict = verify(diagnosis, entries, source)
    about = about or About()
    answers = read_answers(entries, about.texts)
    words = text_findings(diagnosis, answers)
    conclusion = judge_conclusion(diagnosis, Situation(tuple(entries), about.alert), answers)
    problems = (*verdict.problems, *words.problems, *conclusion.problems, *refused_steps(diagnosis))
    return Assessment(
        verdict=Verdict(pointers=verdict.pointers, problems=tuple(dict.fromkeys(problems))),
        open_obligations=tuple(dict.fromkeys((*words.unchecked, *conclusion.unchecked)))[:100],
    )


UNSURE = "whoever concluded it is not sure: what was read may mean something else as well"


def graded(diagnosis: Diagnosis, entries: Sequence[Entry], found: Assessment) -> Diagnosis:
    """The diagnosis as it may be stored: grade, open obligations, risks and confidence are ours to say."""
    opened = tuple(dict.fromkeys((*found.open_obligations, *diagnosis.open_obligations, *_unsure(diagnosis))))[:100]
    grade = Grade.SUPPORTED if opened else found.grade
    return with_confidence(gated(diagnosis).model_copy(update={"grade": grade, "open_obligations": opened}), entries)


def _unsure(diagnosis: Diagnosis) -> tuple[str, ...]:
    """What its own author holds with low confidence is supported by its evidence, and not proven."""
    is_unsure = diagnosis.confidence.level is Level.LOW and bool(diagnosis.fault_types)
    return (UNSURE,) if is_unsure else ()
