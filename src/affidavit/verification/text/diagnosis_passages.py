"""The free text of a diagnosis, passage by passage, each with its place."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from affidavit.evidence.diagnosis import Diagnosis


class Place(StrEnum):
    CAUSE = "cause"
    INTERPRETATION = "interpretation"
    RESOURCE = "resource"
    PLAN = "plan"
    GAP = "gap"


@dataclass(frozen=True, kw_only=True)
class Passage:
    place: Place
    where: str
    """As a submitter finds it: `evidence[2].interpretation`."""
    text: str
    index: int = 0


def passages(diagnosis: Diagnosis) -> Iterator[Passage]:
    yield Passage(place=Place.CAUSE, where="root_cause", text=diagnosis.root_cause)
    for number, name in enumerate(diagnosis.affected_resources):
        yield Passage(place=Place.RESOURCE, where=f"affected_resources[{number}]", text=name, index=number)
    for number, pointer in enumerate(diagnosis.evidence):
        where = f"evidence[{number}].interpretation"
        yield Passage(place=Place.INTERPRETATION, where=where, text=pointer.interpretation, index=number)
    for number, step in enumerate(diagnosis.remediation_plan):
        text = f"{step.action}\n{step.details}"
        yield Passage(place=Place.PLAN, where=f"remediation_plan[{number}]", text=text, index=number)
    for number, gap in enumerate(diagnosis.gaps):
        yield Passage(place=Place.GAP, where=f"gaps[{number}]", text=gap, index=number)
