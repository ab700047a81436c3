"""Kind of subject → how it is investigated."""

from typing import assert_never

from affidavit.agent.subjects.function import FUNCTION
from affidavit.agent.subjects.investigable import Investigable
from affidavit.agent.subjects.node import NODE
from affidavit.evidence.incident_subject import SubjectKind


def investigable(kind: SubjectKind) -> Investigable:
    match kind:
        case SubjectKind.FUNCTION:
            return FUNCTION
        case SubjectKind.NODE:
            return NODE
        case _:
            assert_never(kind)
