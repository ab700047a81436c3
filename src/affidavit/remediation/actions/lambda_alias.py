"""`lambda.alias.rollback`: points an alias at the version it pointed at before; its routing is kept."""

from collections.abc import Sequence

from affidavit.errors import NotFound
from affidavit.evidence.diagnosis import FaultType, RiskLevel
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.ports.argument_sources import SourceDocument, SourceKind
from affidavit.ports.aws_reads_and_changes import ApiCall, StateReader
from affidavit.ports.json import Item, JsonValue
from affidavit.remediation.actions.action_type import Aim, Arguments, Reading
from affidavit.remediation.actions.arns import alias_of
from affidavit.remediation.actions.source_document_values import at_path, is_about_function
from affidavit.remediation.plan.plan_record import UndoClass


class AliasArguments(Arguments):
    version: str


class RollBackAlias:
    name = "lambda.alias.rollback"
    risk = RiskLevel.MEDIUM
    undo_class = UndoClass.EXACT
    repairs = frozenset({FaultType.CODE_ERROR, FaultType.STARTUP, FaultType.CONFIGURATION})
    arguments: type[Arguments] = AliasArguments
    subject_kind = SubjectKind.FUNCTION
    has_token = True

    def aims(self, subject: Subject, said: SourceDocument, reader: StateReader) -> Sequence[Aim]:
        aliases = reader.read_all("lambda", "list_aliases", "Aliases", FunctionName=subject.id)
        found: list[Aim] = []
        for alias in aliases:
            arn, version = str(at_path(alias, "AliasArn")), _said(alias, subject.id, said)
            if version and at_path(alias, "FunctionVersion") != version:
                found.append(Aim(target=arn, arguments={"version": version}))
        return found

    def read(self, aim: Aim, reader: StateReader) -> Reading:
        function, alias = alias_of(aim.target)
        live = reader.read("lambda", "get_alias", FunctionName=function, Name=alias)
        return Reading(
            state={"version": live["FunctionVersion"], "routing": live.get("RoutingConfig")},
            token=str(live["RevisionId"]),
        )

    def problems(self, aim: Aim, live: Reading, reader: StateReader) -> Sequence[str]:
        function, _ = alias_of(aim.target)
        version = str(aim.arguments["version"])
        try:
            reader.read("lambda", "get_function_configuration", FunctionName=function, Qualifier=version)
        except NotFound:
            return [f"{function} has no version {version} any more"]
        return []

    def expected(self, aim: Aim, state: Item) -> Item:
        return {**state, "version": aim.arguments["version"]}

    def undo(self, aim: Aim, state: Item) -> Item | None:
        return {"version": state["version"]}

    def calls(self, aim: Aim, token: str | None) -> tuple[ApiCall, ...]:
        _, alias = alias_of(aim.target)
        arn = aim.target.rpartition(":")[0]
        parameters = {"FunctionName": arn, "Name": alias, "FunctionVersion": str(aim.arguments["version"])}
        call = ApiCall(
            service="lambda",
            operation="update_alias",
            parameters={**parameters, **({"RevisionId": token} if token else {})},
            action="lambda:UpdateAlias",
            resource=arn,
        )
        return (call,)

    def touches(self, aim: Aim, reader: StateReader) -> Sequence[str]:
        return [aim.target, aim.target.rpartition(":")[0]]


def _said(alias: JsonValue, function: str, said: SourceDocument) -> str:
    """The version that the source has this alias point at; empty when it says nothing of it."""
    document, name = said.document, at_path(alias, "Name")
    match said.source.kind:
        case SourceKind.BASELINE:
            return str(at_path(document, "configuration", "aliases", str(name), "FunctionVersion") or "")
        case SourceKind.ALIAS_TARGET:
            is_it = document.get("alias_arn") == at_path(alias, "AliasArn")
            return str(document.get("function_version") or "") if is_it else ""
        case SourceKind.TRAIL_EVENT:
            wrote = str(document.get("eventName", "")).startswith(("UpdateAlias", "CreateAlias"))
            is_it = is_about_function(document, function) and at_path(document, "requestParameters", "name") == name
            return str(at_path(document, "requestParameters", "functionVersion") or "") if wrote and is_it else ""
        case _:
            return ""
