"""`iam.attachment.restore`: attaches a managed policy to a function's role again."""

from collections.abc import Mapping, Sequence

from affidavit.changes.aws_call_builders import attachment_call
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
from affidavit.remediation.actions.trail_event_fields import field, is_call, requested
from affidavit.remediation.plan.plan_record import UndoClass


class AttachmentArguments(Arguments):
    """`is_attached` is False in an undo alone."""

    policy_arn: str
    is_attached: bool


class RestoreAttachment:
    name = "iam.attachment.restore"
    risk = RiskLevel.HIGH
    undo_class = UndoClass.EXACT
    repairs = frozenset({FaultType.PERMISSION_LOSS})
    arguments: type[Arguments] = AttachmentArguments
    subject_kind = SubjectKind.FUNCTION
    has_token = False

    def aims(self, subject: Subject, said: SourceDocument, reader: StateReader) -> Sequence[Aim]:
        role = role_of(subject, reader)
        found = [
            Aim(target=role, arguments={"policy_arn": arn, "is_attached": True}) for arn in _said(role_name(role), said)
        ]
        return [aim for aim in found if self.read(aim, reader).state != self.expected(aim, {})]

    def read(self, aim: Aim, reader: StateReader) -> Reading:
        role = role_name(aim.target)
        listed = reader.read_all("iam", "list_attached_role_policies", "AttachedPolicies", RoleName=role)
        attached = [field(one, "policyArn") for one in listed]
        return Reading(state={"is_attached": aim.arguments["policy_arn"] in attached})

    def problems(self, aim: Aim, live: Reading, reader: StateReader) -> Sequence[str]:
        arn = str(aim.arguments["policy_arn"])
        try:
            default = at_path(reader.read("iam", "get_policy", PolicyArn=arn)["Policy"], "DefaultVersionId")
            found = reader.read("iam", "get_policy_version", PolicyArn=arn, VersionId=default)
        except NotFound:
            return [f"there is no policy {arn} any more"]
        return forbidden_grants(policy_document(at_path(found, "PolicyVersion", "Document")) or {})

    def expected(self, aim: Aim, state: Item) -> Item:
        return {"is_attached": aim.arguments["is_attached"]}

    def undo(self, aim: Aim, state: Item) -> Item | None:
        return {"policy_arn": aim.arguments["policy_arn"], "is_attached": state["is_attached"]}

    def calls(self, aim: Aim, token: str | None) -> tuple[ApiCall, ...]:
        is_attached = aim.arguments["is_attached"] is True
        return (attachment_call(aim.target, str(aim.arguments["policy_arn"]), is_attached=is_attached),)

    def touches(self, aim: Aim, reader: StateReader) -> Sequence[str]:
        return [aim.target, str(aim.arguments["policy_arn"])]


def _said(role: str, said: SourceDocument) -> Sequence[str]:
    """ARNs of the policies that were attached to this role."""
    match said.source.kind:
        case SourceKind.BASELINE:
            if at_path(said.document, "permissions", "role", "name") != role:
                return []
            kept = at_path(said.document, "permissions", "attached_policies")
            return list(kept) if isinstance(kept, Mapping) else []
        case SourceKind.TRAIL_EVENT:
            is_told = is_call(said.document, "DetachRolePolicy", "AttachRolePolicy")
            if not is_told or requested(said.document, "roleName") != role:
                return []
            return [str(requested(said.document, "policyArn"))]
        case _:
            return []
