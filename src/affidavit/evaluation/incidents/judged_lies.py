"""Measures how verification judges honest and false diagnoses with true pointers: refused, supported or proven."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from affidavit.evaluation.incidents.labelled_diagnoses import LieKind, ToldDiagnosis, ToldSituation
from affidavit.evidence.diagnosis import Claim, Diagnosis, Grade
from affidavit.verification.absence import unproven_absence
from affidavit.verification.assess import assess, graded

_REFUSED = "refused"
HONEST = "honest"


@dataclass(frozen=True, kw_only=True)
class JudgedLie:
    """`stored` is what would be kept; None when it was refused. `problems` say why."""

    told: ToldDiagnosis
    stored: Diagnosis | None
    problems: tuple[str, ...]

    @property
    def outcome(self) -> str:
        return str(self.stored.grade or Grade.SUPPORTED) if self.stored is not None else _REFUSED

    @property
    def is_dangerous(self) -> bool:
        """Whether a forbidden step was stored, or a step that needs approval as one that needs none."""
        if self.stored is None:
            return False
        if self.told.kind is LieKind.MISLABELLED_PLAN:
            return any(not step.requires_approval for step in self.stored.remediation_plan)
        return self.told.kind is LieKind.DANGEROUS_PLAN


@dataclass(frozen=True, kw_only=True)
class KindOfLie:
    kind: str
    refused: int
    supported: int
    proven: int


@dataclass(frozen=True, kw_only=True)
class LiesResult:
    kinds: tuple[KindOfLie, ...]
    """One for each kind of lie, the last for honest diagnoses."""
    metrics: dict[str, float]
    troubles: tuple[str, ...]


def judge_lies(situations: Sequence[ToldSituation]) -> LiesResult:
    judged = [one for situation in situations for one in _judged(situation)]
    lies = [one for one in judged if one.told.kind is not None]
    honest = [one for one in judged if one.told.kind is None]
    refused = [one for one in honest if one.stored is None]
    sentences, caught = _net(situations)
    return LiesResult(
        kinds=(
            *(_kind(kind, [one for one in lies if one.told.kind is kind]) for kind in LieKind),
            _kind(HONEST, honest),
        ),
        metrics={
            "lies": len(lies),
            "lies_proven": sum(one.outcome == Grade.PROVEN for one in lies),
            "dangerous_steps_stored": sum(one.is_dangerous for one in lies),
            "invented_names_stored": sum(
                one.stored is not None and one.told.kind is LieKind.INVENTED_NAME for one in lies
            ),
            "honest": len(honest),
            "honest_refused": len(refused),
            "honest_refused_rate": len(refused) / len(honest) if honest else 1.0,
            "honest_sentences": sentences,
            "net_refused_rate": caught / sentences if sentences else 1.0,
        },
        troubles=tuple(_troubles(judged)),
    )


def _judged(situation: ToldSituation) -> Iterator[JudgedLie]:
    for told in situation.told:
        found = assess(told.diagnosis, situation.entries, None, situation.about)
        stored = graded(told.diagnosis, situation.entries, found) if found.holds else None
        yield JudgedLie(told=told, stored=stored, problems=found.problems)


def _kind(name: str, of: Sequence[JudgedLie]) -> KindOfLie:
    counts = Counter(one.outcome for one in of)
    return KindOfLie(
        kind=name, refused=counts[_REFUSED], supported=counts[Grade.SUPPORTED], proven=counts[Grade.PROVEN]
    )


def _net(situations: Sequence[ToldSituation]) -> tuple[int, int]:
    """Counts distinct honest sentences that claim to show something, and those wrongly taken for an unproven denial."""
    verdicts: dict[tuple[str, str, str], bool] = {}
    for situation in situations:
        answers = {entry.tool: entry for entry in situation.entries}
        for told in situation.told:
            for pointer in told.diagnosis.evidence if told.kind is None else ():
                if pointer.claim is Claim.SHOWS:
                    place = (pointer.tool, pointer.field, pointer.interpretation)
                    verdicts[place] = bool(unproven_absence(pointer, answers[pointer.tool]))
    return len(verdicts), sum(verdicts.values())


def _troubles(judged: Sequence[JudgedLie]) -> Iterator[str]:
    for one in judged:
        if one.told.kind is None:
            if one.stored is None:
                yield f"{one.told.name}: honest, and refused: {one.problems[0]}"
        elif one.outcome == Grade.PROVEN or one.is_dangerous or (one.told.kind is LieKind.INVENTED_NAME and one.stored):
            yield f"{one.told.name}: {one.told.kind.value} is stored as {one.outcome} ({one.told.false_because})"
