"""`lambda.configuration.restore`: puts timeout, memory, handler or variables back, one of them at a time."""

from collections.abc import Sequence
from typing import Literal

from pydantic import JsonValue as AnyJson

from affidavit.evidence.diagnosis import FaultType, RiskLevel
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.ports.argument_sources import GOOD_VARIABLES, SourceDocument, SourceKind
from affidavit.ports.aws_reads_and_changes import VARIABLES_OF, ApiCall, StateReader
from affidavit.ports.json import Item, JsonValue
from affidavit.remediation.actions.action_type import Aim, Arguments, Reading
from affidavit.remediation.actions.arns import function_name
from affidavit.remediation.actions.source_document_values import at_path, has_path, is_about_function
from affidavit.remediation.actions.trail_event_fields import items
from affidavit.remediation.plan.plan_record import UndoClass

# Where each stands in GetFunctionConfiguration, and in the request that CloudTrail records.
# Variables are never written down: what is kept is the published version that has the same ones.
VARIABLES = "Environment"
PATHS = {"Timeout": "timeout", "MemorySize": "memorySize", "Handler": "handler"}


class ConfigurationArguments(Arguments):
    """`value` is what is set; for variables the number of the published version that has them."""

    path: Literal["Timeout", "MemorySize", "Handler", "Environment"]
    value: AnyJson


class RestoreConfiguration:
    name = "lambda.configuration.restore"
    risk = RiskLevel.MEDIUM
    undo_class = UndoClass.EXACT
    repairs = frozenset(
        {FaultType.TIMEOUT, FaultType.OUT_OF_MEMORY, FaultType.STARTUP, FaultType.CONFIGURATION, FaultType.CODE_ERROR}
    )
    arguments: type[Arguments] = ConfigurationArguments
    subject_kind = SubjectKind.FUNCTION
    has_token = True

    def aims(self, subject: Subject, said: SourceDocument, reader: StateReader) -> Sequence[Aim]:
        live = reader.read("lambda", "get_function_configuration", FunctionName=subject.id)
        told = {path: value for path in PATHS if (value := _said(path, subject.id, said)) is not None}
        arn = str(live["FunctionArn"])
        found = [
            Aim(target=arn, arguments={"path": path, "value": value})
            for path, value in told.items()
            if live.get(path) != value
        ]
        return [*found, *_aims_of_variables(arn, live, said, reader)]

    def read(self, aim: Aim, reader: StateReader) -> Reading:
        name = function_name(aim.target)
        live = reader.read("lambda", "get_function_configuration", FunctionName=name)
        state = {path: live.get(path) for path in PATHS}
        if aim.arguments["path"] == VARIABLES:
            state[VARIABLES] = version_with_variables(live, name, reader)
        return Reading(
            state=state,
            token=str(live["RevisionId"]),
            is_settled=live.get("LastUpdateStatus", "Successful") == "Successful",
        )

    def problems(self, aim: Aim, live: Reading, reader: StateReader) -> Sequence[str]:
        found = [] if live.is_settled else [f"{aim.target} is being updated by somebody else"]
        if aim.arguments["path"] == VARIABLES and live.state[VARIABLES] is None:
            found.append("its variables of now stand in no published version, so that they could not be put back")
        return found

    def expected(self, aim: Aim, state: Item) -> Item:
        return {**state, str(aim.arguments["path"]): aim.arguments["value"]}

    def undo(self, aim: Aim, state: Item) -> Item | None:
        path = str(aim.arguments["path"])
        return {"path": path, "value": state[path]}

    def calls(self, aim: Aim, token: str | None) -> tuple[ApiCall, ...]:
        path, value = str(aim.arguments["path"]), aim.arguments["value"]
        version = f"{aim.target}:{value}"
        # The values go from Lambda to Lambda: neither a plan nor a record ever has them.
        change: dict[str, JsonValue] = {path: {VARIABLES_OF: version} if path == VARIABLES else value}
        call = ApiCall(
            service="lambda",
            operation="update_function_configuration",
            parameters={"FunctionName": aim.target, **change, **({"RevisionId": token} if token else {})},
            action="lambda:UpdateFunctionConfiguration",
            resource=aim.target,
            also=(("lambda:GetFunctionConfiguration", version),) if path == VARIABLES else (),
        )
        return (call,)

    def touches(self, aim: Aim, reader: StateReader) -> Sequence[str]:
        return [aim.target]


def _said(path: str, function: str, said: SourceDocument) -> JsonValue:
    """What the source tells about it; None when it says nothing."""
    if said.source.kind is SourceKind.BASELINE:
        return at_path(said.document, "configuration", "settings", path)
    if said.source.kind is SourceKind.FUNCTION_VERSION:
        return said.document.get(path)
    is_write = str(said.document.get("eventName", "")).startswith(("UpdateFunctionConfiguration", "CreateFunction"))
    if said.source.kind is SourceKind.TRAIL_EVENT and is_write and is_about_function(said.document, function):
        return at_path(said.document, "requestParameters", PATHS[path])
    return None


def version_with_variables(live: Item, function: str, reader: StateReader) -> str | None:
    """The lowest published version that has exactly these variables; None when none has."""
    wanted = variables(live)
    published = reader.read_all("lambda", "list_versions_by_function", "Versions", FunctionName=function)
    same = [one for one in items(list(published)) if wanted is not None and variables(one) == wanted]
    numbers = sorted(int(str(one["Version"])) for one in same if str(one["Version"]).isdigit())
    return str(numbers[0]) if numbers else None


def variables(configuration: Item) -> JsonValue:
    """None when Lambda could not decrypt them."""
    environment = configuration.get(VARIABLES) or {}
    return None if has_path(environment, "Error") else at_path(environment, "Variables") or {}


def _aims_of_variables(arn: str, live: Item, said: SourceDocument, reader: StateReader) -> list[Aim]:
    """Only a published version has the values, and only a known-good state says that they were good.

    Without a version that has those of now there would be no undo: then it stays advice.
    """
    is_good = said.source.kind is SourceKind.FUNCTION_VERSION and said.document.get(GOOD_VARIABLES) is True
    if not is_good or said.source.reference.rpartition(":")[0] != arn:
        return []
    now = version_with_variables(live, function_name(arn), reader)
    good = reader.read("lambda", "get_function_configuration", FunctionName=said.source.reference)
    version = version_with_variables(good, function_name(arn), reader)
    if now is None or version != str(said.document.get("Version")) or now == version:
        return []
    return [Aim(target=arn, arguments={"path": VARIABLES, "value": version})]
