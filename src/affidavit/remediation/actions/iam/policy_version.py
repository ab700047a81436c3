"""`iam.policy_version.set_default`: makes a former version of a managed policy the default one again."""

from collections.abc import Mapping, Sequence

from affidavit.errors import NotFound
from affidavit.evidence.diagnosis import FaultType, RiskLevel
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.ports.argument_sources import SourceDocument, SourceKind
from affidavit.ports.aws_reads_and_changes import ApiCall, StateReader
from affidavit.ports.json import Item, JsonValue
from affidavit.remediation.actions.action_type import Aim, Arguments, Reading
from affidavit.remediation.actions.arns import parse_arn
from affidavit.remediation.actions.iam.policy_comparison import forbidden_grants
from affidavit.remediation.actions.iam.role_and_policy_reading import policy_document, role_name, role_of
from affidavit.remediation.actions.source_document_values import at_path
from affidavit.remediation.actions.trail_event_fields import field
from affidavit.remediation.plan.plan_record import UndoClass

_ATTACHED = {
    "PolicyRoles": ("role", "roleName"),
    "PolicyUsers": ("user", "userName"),
    "PolicyGroups": ("group", "groupName"),
}


class PolicyVersionArguments(Arguments):
    version_id: str


class SetDefaultPolicyVersion:
    name = "iam.policy_version.set_default"
    risk = RiskLevel.HIGH
    undo_class = UndoClass.EXACT
    repairs = frozenset({FaultType.PERMISSION_LOSS})
    arguments: type[Arguments] = PolicyVersionArguments
    subject_kind = SubjectKind.FUNCTION
    has_token = False

    def aims(self, subject: Subject, said: SourceDocument, reader: StateReader) -> Sequence[Aim]:
        told = _said(said)
        attached = _attached(role_name(role_of(subject, reader)), reader) if told else set[str]()
        found = [
            Aim(target=arn, arguments={"version_id": version})
            for arn, (version, document) in told.items()
            # A version that says something else by now is not the one that was good.
            if arn in attached and _document(arn, version, reader) == document
        ]
        return [aim for aim in found if self.read(aim, reader).state != self.expected(aim, {})]

    def read(self, aim: Aim, reader: StateReader) -> Reading:
        policy = reader.read("iam", "get_policy", PolicyArn=aim.target)["Policy"]
        return Reading(state={"version_id": at_path(policy, "DefaultVersionId")})

    def problems(self, aim: Aim, live: Reading, reader: StateReader) -> Sequence[str]:
        document = _document(aim.target, str(aim.arguments["version_id"]), reader)
        if document is None:
            return [f"{aim.target} has no version {aim.arguments['version_id']}"]
        return forbidden_grants(document)

    def expected(self, aim: Aim, state: Item) -> Item:
        return {"version_id": aim.arguments["version_id"]}

    def undo(self, aim: Aim, state: Item) -> Item | None:
        return {"version_id": state["version_id"]}

    def calls(self, aim: Aim, token: str | None) -> tuple[ApiCall, ...]:
        return (
            ApiCall(
                service="iam",
                operation="set_default_policy_version",
                parameters={"PolicyArn": aim.target, "VersionId": aim.arguments["version_id"]},
                action="iam:SetDefaultPolicyVersion",
                resource=aim.target,
            ),
        )

    def touches(self, aim: Aim, reader: StateReader) -> Sequence[str]:
        """The policy, and everybody else it is attached to."""
        policy, listed = parse_arn(aim.target), reader.read("iam", "list_entities_for_policy", PolicyArn=aim.target)
        return [
            aim.target,
            *(
                f"arn:{policy.partition}:iam::{policy.account}:{kind}/{field(entry, name)}"
                for key, (kind, name) in _ATTACHED.items()
                for entry in _entries(listed.get(key))
            ),
        ]


def _entries(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else []


def _attached(role: str, reader: StateReader) -> set[str]:
    listed = reader.read_all("iam", "list_attached_role_policies", "AttachedPolicies", RoleName=role)
    return {str(field(one, "policyArn")) for one in listed}


def _document(arn: str, version: str, reader: StateReader) -> Item | None:
    try:
        found = reader.read("iam", "get_policy_version", PolicyArn=arn, VersionId=version)
    except NotFound:
        return None
    return policy_document(at_path(found, "PolicyVersion", "Document"))


def _said(said: SourceDocument) -> dict[str, tuple[str, JsonValue]]:
    """The version and the document that a policy had, by its ARN; policies of AWS's own are nobody's to change."""
    match said.source.kind:
        case SourceKind.BASELINE:
            kept = at_path(said.document, "permissions", "attached_policies")
            found = {
                arn: (str(at_path(one, "version")), at_path(one, "document"))
                for arn, one in (kept.items() if isinstance(kept, Mapping) else ())
            }
        case SourceKind.POLICY_VERSION:
            version = (str(said.document["version_id"]), said.document["document"])
            found = {str(said.document["policy_arn"]): version}
        case _:
            found = {}
    return {arn: version for arn, version in found.items() if ":iam::aws:" not in arn}
