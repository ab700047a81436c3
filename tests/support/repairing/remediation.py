"""Plans and sources for tests."""

from datetime import UTC, datetime, timedelta

from affidavit.evidence.diagnosis import RiskLevel
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.incidents.incident import IncidentId
from affidavit.ports.argument_sources import ArgumentSource, SourceDocument, SourceKind
from affidavit.ports.json import Item
from affidavit.remediation.plan.plan_record import Action, OnFailedProof, Plan, PlanId, Symptom, UndoClass
from affidavit.remediation.plan.seal import precondition_of, sha256_of

NOW = datetime(2026, 1, 15, 10, 0, 30, tzinfo=UTC)
FUNCTION_ARN = "arn:aws:lambda:ca-central-1:000000000000:function:orders"


def a_subject(name: str = "orders") -> Subject:
    return Subject(kind=SubjectKind.FUNCTION, id=name)


def a_document(kind: SourceKind, document: Item, *, reference: str = "event-1", at: datetime = NOW) -> SourceDocument:
    return SourceDocument(
        source=ArgumentSource(kind=kind, reference=reference, sha256=sha256_of(document)), at=at, document=document
    )


def an_action(**changes: object) -> Action:
    fields = {
        "type": "lambda.concurrency.restore",
        "target": FUNCTION_ARN,
        "arguments": {"reserved": 5},
        "source": ArgumentSource(kind=SourceKind.TRAIL_EVENT, reference="event-1", sha256="0" * 64),
        "evidence_basis": (0,),
        "precondition": precondition_of({"reserved": 0}),
        "expected": {"reserved": 5},
        "undo": {"reserved": 0},
        "risk": RiskLevel.MEDIUM,
        "undo_class": UndoClass.EXACT,
    }
    return Action(**{**fields, **changes})


def a_plan(*actions: Action, **changes: object) -> Plan:
    fields = {
        "plan_id": PlanId("plan-1"),
        "incident_id": IncidentId("inc-1"),
        "diagnosis_sha256": "1" * 64,
        "account": "000000000000",
        "region": "ca-central-1",
        "actions": actions or (an_action(),),
        "advice": (),
        "symptom": Symptom(subject=a_subject(), window_seconds=60),
        "on_failed_proof": OnFailedProof.UNDO,
        "needed_approvals": 1,
        "blast_radius": (FUNCTION_ARN,),
        "created_by": "arn:aws:iam::000000000000:user/robot",
        "created_at": NOW,
        "expires_at": NOW + timedelta(hours=1),
    }
    return Plan(**{**fields, **changes})
