"""`lambda.event_source.enable`: lets a queue or stream call the function again. What it reads meanwhile stays read."""

from collections.abc import Mapping, Sequence

from affidavit.evidence.diagnosis import FaultType, RiskLevel
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.ports.argument_sources import SourceDocument, SourceKind
from affidavit.ports.aws_reads_and_changes import ApiCall, StateReader
from affidavit.ports.json import Item
from affidavit.remediation.actions.action_type import Aim, Arguments, Reading
from affidavit.remediation.actions.arns import mapping_id
from affidavit.remediation.actions.source_document_values import at_path
from affidavit.remediation.plan.plan_record import UndoClass

_ENABLED, _DISABLED = ("Enabled", "Enabling", "Creating"), ("Disabled", "Disabling")


class EventSourceArguments(Arguments):
    enabled: bool


class EnableEventSource:
    name = "lambda.event_source.enable"
    risk = RiskLevel.MEDIUM
    undo_class = UndoClass.COMPENSATING
    repairs = frozenset({FaultType.CONFIGURATION, FaultType.THROTTLING})
    arguments: type[Arguments] = EventSourceArguments
    subject_kind = SubjectKind.FUNCTION
    has_token = False

    def aims(self, subject: Subject, said: SourceDocument, reader: StateReader) -> Sequence[Aim]:
        live = reader.read_all("lambda", "list_event_source_mappings", "EventSourceMappings", FunctionName=subject.id)
        off = [one for one in live if isinstance(one, Mapping) and one.get("State") in _DISABLED]
        return [
            Aim(target=_arn(one), arguments={"enabled": True}) for one in off if _was_enabled(str(one["UUID"]), said)
        ]

    def read(self, aim: Aim, reader: StateReader) -> Reading:
        live = reader.read("lambda", "get_event_source_mapping", UUID=mapping_id(aim.target))
        state = str(live.get("State"))
        return Reading(state={"enabled": state in _ENABLED}, is_settled=state in (_ENABLED[0], _DISABLED[0]))

    def problems(self, aim: Aim, live: Reading, reader: StateReader) -> Sequence[str]:
        """Its cause must be gone first: a function that may not run would only push messages to the dead letters."""
        mapping = reader.read("lambda", "get_event_source_mapping", UUID=mapping_id(aim.target))
        function = str(mapping["FunctionArn"])
        reserved = reader.read("lambda", "get_function_concurrency", FunctionName=function)
        if aim.arguments["enabled"] and reserved.get("ReservedConcurrentExecutions") == 0:
            return [f"{function} has reserved concurrency 0: it would fail whatever the source sends it"]
        return []

    def expected(self, aim: Aim, state: Item) -> Item:
        return {"enabled": aim.arguments["enabled"]}

    def undo(self, aim: Aim, state: Item) -> Item | None:
        return {"enabled": state["enabled"]}

    def calls(self, aim: Aim, token: str | None) -> tuple[ApiCall, ...]:
        call = ApiCall(
            service="lambda",
            operation="update_event_source_mapping",
            parameters={"UUID": mapping_id(aim.target), "Enabled": aim.arguments["enabled"]},
            action="lambda:UpdateEventSourceMapping",
            resource=aim.target,
        )
        return (call,)

    def touches(self, aim: Aim, reader: StateReader) -> Sequence[str]:
        mapping = reader.read("lambda", "get_event_source_mapping", UUID=mapping_id(aim.target))
        return [aim.target, str(mapping["FunctionArn"]), str(mapping["EventSourceArn"])]


def _arn(mapping: Mapping[str, object]) -> str:
    base = str(mapping["FunctionArn"]).partition(":function:")[0]
    return f"{base}:event-source-mapping:{mapping['UUID']}"


def _was_enabled(uuid: str, said: SourceDocument) -> bool:
    if said.source.kind is SourceKind.BASELINE:
        return at_path(said.document, "configuration", "event_sources", uuid, "is_enabled") is True
    if said.source.kind is SourceKind.TRAIL_EVENT:
        name = str(said.document.get("eventName", ""))
        is_it = uuid in str(said.document.get("requestParameters")) or uuid in str(said.document.get("resourceNames"))
        wrote = name.startswith(("UpdateEventSourceMapping", "CreateEventSourceMapping"))
        return is_it and wrote and at_path(said.document, "requestParameters", "enabled") is True
    return False
