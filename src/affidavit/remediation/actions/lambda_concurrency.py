"""`lambda.concurrency.restore`: puts a function's reserved concurrency back. The worked example of an action."""

from collections.abc import Sequence

from affidavit.changes.aws_call_builders import concurrency_call
from affidavit.evidence.diagnosis import FaultType, RiskLevel
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.ports.argument_sources import SourceDocument, SourceKind
from affidavit.ports.aws_reads_and_changes import ApiCall, StateReader
from affidavit.ports.json import Item, JsonValue
from affidavit.remediation.actions.action_type import Aim, Arguments, Reading
from affidavit.remediation.actions.arns import function_name
from affidavit.remediation.actions.source_document_values import at_path, has_path, is_about_function
from affidavit.remediation.plan.plan_record import UndoClass

# AWS refuses to leave fewer to everybody else; asking before tells a person why.
LEAST_UNRESERVED = 100


class ConcurrencyArguments(Arguments):
    """`reserved` is None for "none reserved", which is not 0: with 0 the function never runs."""

    reserved: int | None


class RestoreConcurrency:
    name = "lambda.concurrency.restore"
    risk = RiskLevel.MEDIUM
    undo_class = UndoClass.EXACT
    repairs = frozenset({FaultType.THROTTLING})
    arguments: type[Arguments] = ConcurrencyArguments
    subject_kind = SubjectKind.FUNCTION
    has_token = False

    def aims(self, subject: Subject, said: SourceDocument, reader: StateReader) -> Sequence[Aim]:
        found, reserved = _said(subject.id, said)
        if not found:
            return []
        arn = str(reader.read("lambda", "get_function_configuration", FunctionName=subject.id)["FunctionArn"])
        aim = Aim(target=arn, arguments={"reserved": reserved})
        return [] if self.read(aim, reader).state == self.expected(aim, {}) else [aim]

    def read(self, aim: Aim, reader: StateReader) -> Reading:
        answer = reader.read("lambda", "get_function_concurrency", FunctionName=function_name(aim.target))
        return Reading(state={"reserved": answer.get("ReservedConcurrentExecutions")})

    def problems(self, aim: Aim, live: Reading, reader: StateReader) -> Sequence[str]:
        wanted, now = _number(aim.arguments["reserved"]), _number(live.state["reserved"])
        limits = reader.read("lambda", "get_account_settings")["AccountLimit"]
        unreserved = _number(at_path(limits, "UnreservedConcurrentExecutions"))
        left = unreserved + now - wanted
        if wanted > now and left < LEAST_UNRESERVED:
            return [f"only {left} executions would stay unreserved in the account, fewer than {LEAST_UNRESERVED}"]
        return []

    def expected(self, aim: Aim, state: Item) -> Item:
        return {"reserved": aim.arguments["reserved"]}

    def undo(self, aim: Aim, state: Item) -> Item | None:
        return {"reserved": state["reserved"]}

    def calls(self, aim: Aim, token: str | None) -> tuple[ApiCall, ...]:
        reserved = aim.arguments["reserved"]
        return (concurrency_call(aim.target, None if reserved is None else _number(reserved)),)

    def touches(self, aim: Aim, reader: StateReader) -> Sequence[str]:
        return [aim.target]


def _said(function: str, said: SourceDocument) -> tuple[bool, JsonValue]:
    """Whether the source tells the reserved concurrency, and which."""
    match said.source.kind:
        case SourceKind.BASELINE:
            place = ("concurrency", "reserved")
            return has_path(said.document, *place), at_path(said.document, *place)
        case SourceKind.TRAIL_EVENT:
            if not is_about_function(said.document, function):
                return False, None
            name = str(said.document.get("eventName", ""))
            if name.startswith("DeleteFunctionConcurrency"):
                return True, None
            wrote = name.startswith("PutFunctionConcurrency")
            return wrote, at_path(said.document, "requestParameters", "reservedConcurrentExecutions") if wrote else None
        case _:
            return False, None


def _number(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0
