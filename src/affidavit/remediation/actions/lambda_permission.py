"""`lambda.permission.restore`: puts a statement of a function's resource policy back, as its source has it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import JsonValue as AnyJson

from affidavit.errors import NotFound
from affidavit.evidence.diagnosis import FaultType, RiskLevel
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.ports.argument_sources import SourceDocument, SourceKind
from affidavit.ports.aws_reads_and_changes import ApiCall, StateReader
from affidavit.ports.json import Item, JsonValue
from affidavit.remediation.actions.action_type import Aim, Arguments, Reading
from affidavit.remediation.actions.arns import function_name
from affidavit.remediation.actions.source_document_values import at_path, is_about_function
from affidavit.remediation.actions.trail_event_fields import items
from affidavit.remediation.plan.plan_record import UndoClass

# What AddPermission takes, and what CloudTrail calls it.
PARAMETERS = {
    "Action": "action",
    "Principal": "principal",
    "SourceArn": "sourceArn",
    "SourceAccount": "sourceAccount",
    "PrincipalOrgID": "principalOrgID",
}


class PermissionArguments(Arguments):
    """`grant` are the parameters of AddPermission; None says that there is no such statement."""

    sid: str
    grant: dict[str, AnyJson] | None


class RestorePermission:
    name = "lambda.permission.restore"
    risk = RiskLevel.MEDIUM
    undo_class = UndoClass.EXACT
    repairs = frozenset({FaultType.PERMISSION_LOSS})
    arguments: type[Arguments] = PermissionArguments
    subject_kind = SubjectKind.FUNCTION
    has_token = True

    def aims(self, subject: Subject, said: SourceDocument, reader: StateReader) -> Sequence[Aim]:
        if not (told := _said(subject.id, said)):
            return []
        arn = str(reader.read("lambda", "get_function_configuration", FunctionName=subject.id)["FunctionArn"])
        found = [Aim(target=arn, arguments={"sid": sid, "grant": grant}) for sid, grant in told.items()]
        return [aim for aim in found if self.read(aim, reader).state["grant"] is None]

    def read(self, aim: Aim, reader: StateReader) -> Reading:
        sid = str(aim.arguments["sid"])
        try:
            answer = reader.read("lambda", "get_policy", FunctionName=function_name(aim.target))
        except NotFound:
            return Reading(state={"sid": sid, "grant": None})
        policy = json.loads(str(answer["Policy"]))
        grant = next((_grant_of(one) for one in policy["Statement"] if one.get("Sid") == sid), None)
        return Reading(state={"sid": sid, "grant": grant}, token=str(answer["RevisionId"]))

    def problems(self, aim: Aim, live: Reading, reader: StateReader) -> Sequence[str]:
        grant = aim.arguments["grant"]
        if isinstance(grant, Mapping) and grant.get("Principal") == "*" and "PrincipalOrgID" not in grant:
            return [f"statement {aim.arguments['sid']} would open {aim.target} to everybody"]
        return []

    def expected(self, aim: Aim, state: Item) -> Item:
        return {"sid": state["sid"], "grant": aim.arguments["grant"]}

    def undo(self, aim: Aim, state: Item) -> Item | None:
        return {"sid": state["sid"], "grant": state["grant"]}

    def calls(self, aim: Aim, token: str | None) -> tuple[ApiCall, ...]:
        grant, base = aim.arguments["grant"], {"FunctionName": aim.target, "StatementId": str(aim.arguments["sid"])}
        more: Item = grant if isinstance(grant, Mapping) else {}
        call = ApiCall(
            service="lambda",
            operation="add_permission" if more else "remove_permission",
            parameters={**base, **more, **({"RevisionId": token} if token else {})},
            action="lambda:AddPermission" if more else "lambda:RemovePermission",
            resource=aim.target,
        )
        return (call,)

    def touches(self, aim: Aim, reader: StateReader) -> Sequence[str]:
        return [aim.target]


def _said(function: str, said: SourceDocument) -> dict[str, Item]:
    """The grants that the source tells, by the id of their statement."""
    match said.source.kind:
        case SourceKind.BASELINE:
            kept = items(at_path(said.document, "configuration", "resource_policy", "Statement"))
            return {str(one["Sid"]): _grant_of(one) for one in kept if one.get("Sid") and one.get("Effect") == "Allow"}
        case SourceKind.TRAIL_EVENT:
            event, request = said.document, said.document.get("requestParameters")
            wrote = str(event.get("eventName", "")).startswith("AddPermission") and is_about_function(event, function)
            sid = at_path(request, "statementId")
            names = PARAMETERS.items() if wrote and isinstance(sid, str) else ()
            grant = {ours: value for ours, theirs in names if (value := at_path(request, theirs)) is not None}
            return {str(sid): grant} if grant else {}
        case _:
            return {}


def _grant_of(statement: Mapping[str, Any]) -> dict[str, JsonValue]:
    """A statement as the parameters that would make it."""
    principal = statement.get("Principal")
    who = next(iter(cast("Mapping[str, Any]", principal).values())) if isinstance(principal, Mapping) else principal
    found: dict[str, JsonValue] = {"Action": statement["Action"], "Principal": who}
    for tests in cast("Mapping[str, Mapping[str, Any]]", statement.get("Condition") or {}).values():
        for key, value in tests.items():
            name = {"aws:sourcearn": "SourceArn", "aws:sourceaccount": "SourceAccount"}.get(key.lower())
            found[name or {"aws:principalorgid": "PrincipalOrgID"}.get(key.lower(), key)] = value
    return found
