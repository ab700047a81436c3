"""`iam.inline_policy.restore`: puts an inline policy of a function's role back, as a source has it and never wider."""

from collections.abc import Mapping, Sequence
from typing import cast

from pydantic import JsonValue as PydanticJson

from affidavit.changes.aws_call_builders import inline_policy_call
from affidavit.errors import NotFound
from affidavit.evidence.diagnosis import FaultType, RiskLevel
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.ports.argument_sources import SourceDocument, SourceKind
from affidavit.ports.aws_reads_and_changes import ApiCall, StateReader
from affidavit.ports.json import Item
from affidavit.remediation.actions.action_type import Aim, Arguments, Reading
from affidavit.remediation.actions.iam.policy_comparison import forbidden_grants
from affidavit.remediation.actions.iam.role_and_policy_reading import policy_document, role_name, role_of
from affidavit.remediation.actions.source_document_values import at_path
from affidavit.remediation.actions.trail_event_fields import is_call, requested
from affidavit.remediation.plan.plan_record import UndoClass


class InlinePolicyArguments(Arguments):
    """`document` is None in an undo alone: the policy that the repair made is taken away again."""

    policy: str
    document: dict[str, PydanticJson] | None


class RestoreInlinePolicy:
    name = "iam.inline_policy.restore"
    risk = RiskLevel.HIGH
    undo_class = UndoClass.EXACT
    repairs = frozenset({FaultType.PERMISSION_LOSS})
    arguments: type[Arguments] = InlinePolicyArguments
    subject_kind = SubjectKind.FUNCTION
    has_token = False

    def aims(self, subject: Subject, said: SourceDocument, reader: StateReader) -> Sequence[Aim]:
        role = role_of(subject, reader)
        found = [
            Aim(target=role, arguments={"policy": policy, "document": document})
            for policy, document in _said(role_name(role), said).items()
        ]
        return [aim for aim in found if self.read(aim, reader).state != self.expected(aim, {})]

    def read(self, aim: Aim, reader: StateReader) -> Reading:
        role, policy = role_name(aim.target), str(aim.arguments["policy"])
        try:
            raw = reader.read("iam", "get_role_policy", RoleName=role, PolicyName=policy)["PolicyDocument"]
        except NotFound:
            reader.read("iam", "get_role", RoleName=role)  # raises when it is the role that is gone
            return Reading(state={"document": None})
        return Reading(state={"document": policy_document(raw)})

    def problems(self, aim: Aim, live: Reading, reader: StateReader) -> Sequence[str]:
        document = aim.arguments["document"]
        return forbidden_grants(document) if isinstance(document, Mapping) else []

    def expected(self, aim: Aim, state: Item) -> Item:
        return {"document": aim.arguments["document"]}

    def undo(self, aim: Aim, state: Item) -> Item | None:
        return {"policy": aim.arguments["policy"], "document": state["document"]}

    def calls(self, aim: Aim, token: str | None) -> tuple[ApiCall, ...]:
        document = cast("Item | None", aim.arguments["document"])
        return (inline_policy_call(aim.target, str(aim.arguments["policy"]), document),)

    def touches(self, aim: Aim, reader: StateReader) -> Sequence[str]:
        return [aim.target]


def _said(role: str, said: SourceDocument) -> dict[str, Item]:
    """The inline policies of this role that the source tells, by name."""
    match said.source.kind:
        case SourceKind.BASELINE:
            if at_path(said.document, "permissions", "role", "name") != role:
                return {}
            kept = at_path(said.document, "permissions", "inline_policies")
            named = kept.items() if isinstance(kept, Mapping) else ()
            return {name: document for name, document in named if isinstance(document, Mapping)}
        case SourceKind.TRAIL_EVENT:
            if not is_call(said.document, "PutRolePolicy") or requested(said.document, "roleName") != role:
                return {}
            document = policy_document(requested(said.document, "policyDocument"))
            return {str(requested(said.document, "policyName")): document} if document is not None else {}
        case _:
            return {}
