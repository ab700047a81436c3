"""Judges what a diagnosis concludes: its faults, how things stand now, what it denies and what it says of changes."""

from collections.abc import Iterator

from affidavit.evidence.diagnosis import Diagnosis, ProducedBy
from affidavit.verification.claims.contradicted_values import doubtful_value
from affidavit.verification.obligations.change_claims import change_findings
from affidavit.verification.obligations.evaluate import open_needs
from affidavit.verification.obligations.false_denials import denied_facts
from affidavit.verification.obligations.node_verdict_agreement import node_findings
from affidavit.verification.obligations.recorded_incident_facts import Situation
from affidavit.verification.obligations.state_claims import state_findings
from affidavit.verification.text.check import TextFindings
from affidavit.verification.text.diagnosis_passages import Place, passages
from affidavit.verification.text.prompt_injection import gives_orders, refuses_orders
from affidavit.verification.text.recorded_answers import Answers
from affidavit.verification.text.text_problem import WordFinding


def judge_conclusion(diagnosis: Diagnosis, at: Situation, answers: Answers) -> TextFindings:
    # Sentences of rules only name what stands there.
    is_told = diagnosis.produced_by is ProducedBy.CHAT_MODEL
    doubts = (
        f"evidence[{number}]: {doubt}"
        for number, one in enumerate(diagnosis.evidence)
        if is_told and (doubt := doubtful_value(one))
    )
    found = [
        *state_findings(diagnosis, at),
        *node_findings(diagnosis, at),
        *_of_words(diagnosis, at, answers),
        *_of_orders(diagnosis),
    ]
    opened = [one.says for one in found if not one.is_refused]
    return TextFindings(
        problems=tuple(one.says for one in found if one.is_refused),
        unchecked=(*open_needs(diagnosis, at), *opened, *doubts),
    )


def _of_words(diagnosis: Diagnosis, at: Situation, answers: Answers) -> Iterator[WordFinding]:
    for passage in passages(diagnosis):
        if passage.place not in (Place.CAUSE, Place.INTERPRETATION):
            continue
        for says in denied_facts(passage.text, at, answers):
            yield WordFinding(says=f"{passage.where}: {says}", is_refused=True)
        for one in change_findings(passage.text, at):
            yield WordFinding(says=f"{passage.where}: {one.says}", is_refused=one.is_refused)


def _of_orders(diagnosis: Diagnosis) -> Iterator[WordFinding]:
    """A line that gives orders may be cited as a fact about the log, and as nothing else."""
    for number, pointer in enumerate(diagnosis.evidence):
        is_order = isinstance(pointer.value, str) and gives_orders(pointer.value)
        if is_order and not refuses_orders(pointer.interpretation):
            says = f"evidence[{number}] cites text that gives orders to its reader, which shows nothing of the fault"
            yield WordFinding(says=says, is_refused=False)
