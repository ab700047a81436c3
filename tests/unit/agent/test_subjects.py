"""What stands in the table of subjects."""

from affidavit.agent.subjects.function import FUNCTION
from affidavit.agent.subjects.registry import investigable
from affidavit.evidence.diagnosis import Diagnosis
from affidavit.evidence.incident_subject import SubjectKind
from affidavit.verification.ledger_entry import make_entry

from .support import scenario


def concluded(name: str) -> Diagnosis:
    of = scenario(name)
    asked = {"lambda_name": of.function}
    tools = FUNCTION.argument_schemas
    found = FUNCTION.conclude([make_entry(tool, tool, asked, of.workloads().answer(tool, asked)) for tool in tools])
    assert found is not None
    return found


def test_every_kind_has_all_that_an_investigation_needs() -> None:
    for kind in SubjectKind:
        of = investigable(kind)
        assert of.kind is kind
        assert of.argument_schemas.keys() == of.answer_schemas.keys() == of.descriptions.keys()
        assert set(of.parts.values()) <= of.argument_schemas.keys()
        assert of.example_pointer["tool"] in of.argument_schemas


def test_two_settings_of_one_kind_of_fault_are_told_apart_and_the_same_one_is_not() -> None:
    one, none = (FUNCTION.signature(concluded(f"throttling-reserved-{name}")) for name in ("one", "zero"))
    assert one != none
    assert none == FUNCTION.signature(concluded("throttling-reserved-zero"))
