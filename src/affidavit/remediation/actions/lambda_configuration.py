"""`lambda.configuration.restore`: puts timeout, memory, handler or variables back, one of them at a time."""

from collections.abc import Sequence
from typing import Literal

from pydantic import JsonValue as AnyJson

from affidavit.evidence.diagnosis import FaultType, RiskLevel
from affidavit.evidence.subject import Subject, SubjectKind
from affidavit.ports.argument_sources import SourceDocument, SourceKind
from affidavit.ports.aws_calls import ApiCall, StateReader
from affidavit.ports.json import Item, JsonValue
from affidavit.remediation.actions.action_type import Aim, Arguments, Reading
from affidavit.remediation.actions.arns import function_name
from affidavit.remediation.actions.documents import at_path, is_about_function
from affidavit.remediation.plan.records import UndoClass

# Where each stands in GetFunctionConfiguration, and in the request that CloudTrail records.
PATHS = {"Timeout": "timeout", "MemorySize": "memorySize", "Handler": "handler"}


class ConfigurationArguments(Arguments):
    path: Literal["Timeout", "MemorySize", "Handler"]
    value: AnyJson


class RestoreConfiguration:
    name = "lambda.configuration.restore"
    risk = RiskLevel.MEDIUM
    undo_class = UndoClass.EXACT
    repairs = frozenset(
        {FaultType.TIMEOUT, FaultType.OUT_OF_MEMORY, FaultType.STARTUP, FaultType.CONFIGURATION, FaultType.CODE_ERROR}
    )
    arguments: type[Arguments] = ConfigurationArguments
    has_token = True

    def aims(self, subject: Subject, said: SourceDocument, reader: StateReader) -> Sequence[Aim]:
        if subject.kind is not SubjectKind.FUNCTION:
            return []
        live = reader.read("lambda", "get_function_configuration", FunctionName=subject.id)
        told = {path: value for path in PATHS if (value := _said(path, subject.id, said)) is not None}
        return [
            Aim(target=str(live["FunctionArn"]), arguments={"path": path, "value": value})
            for path, value in told.items()
            if live.get(path) != value
        ]

    def read(self, aim: Aim, reader: StateReader) -> Reading:
        name = function_name(aim.target)
        live = reader.read("lambda", "get_function_configuration", FunctionName=name)
        return Reading(
            state={path: live.get(path) for path in PATHS},
            token=str(live["RevisionId"]),
            is_settled=live.get("LastUpdateStatus", "Successful") == "Successful",
        )

    def problems(self, aim: Aim, live: Reading, reader: StateReader) -> Sequence[str]:
        return [] if live.is_settled else [f"{aim.target} is being updated by somebody else"]

    def expected(self, aim: Aim, state: Item) -> Item:
        return {**state, str(aim.arguments["path"]): aim.arguments["value"]}

    def undo(self, aim: Aim, state: Item) -> Item | None:
        path = str(aim.arguments["path"])
        return {"path": path, "value": state[path]}

    def calls(self, aim: Aim, token: str | None) -> tuple[ApiCall, ...]:
        change: dict[str, JsonValue] = {str(aim.arguments["path"]): aim.arguments["value"]}
        call = ApiCall(
            service="lambda",
            operation="update_function_configuration",
            parameters={"FunctionName": aim.target, **change, **({"RevisionId": token} if token else {})},
            action="lambda:UpdateFunctionConfiguration",
            resource=aim.target,
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
