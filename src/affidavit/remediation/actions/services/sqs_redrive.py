"""`sqs.redrive`: sends the messages of a dead-letter queue back to the queue they came from. It cannot be undone."""

import json
from collections.abc import Mapping, Sequence

from affidavit.errors import NotFound
from affidavit.evidence.diagnosis import FaultType, RiskLevel
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.ports.argument_sources import SourceDocument, SourceKind
from affidavit.ports.aws_reads_and_changes import ApiCall, StateReader
from affidavit.ports.json import Item
from affidavit.remediation.actions.action_type import Aim, Arguments, Reading
from affidavit.remediation.actions.arns import parse_arn
from affidavit.remediation.actions.source_document_values import at_path, is_about_function
from affidavit.remediation.actions.trail_event_fields import field, is_call, items, requested
from affidavit.remediation.plan.plan_record import UndoClass

PER_SECOND = 10
# As many as go back within the minute in which the read-back looks. More are a person's to send, in pieces.
MOST_MESSAGES = 500
_COUNTS = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed")


class RedriveArguments(Arguments):
    """`destination` is the queue that the messages came from; the target is its dead-letter queue."""

    destination: str
    per_second: int


class Redrive:
    name = "sqs.redrive"
    risk = RiskLevel.HIGH
    undo_class = UndoClass.NONE
    repairs = frozenset(kind for kind in FaultType if not kind.startswith("node_") and kind is not FaultType.UNKNOWN)
    arguments: type[Arguments] = RedriveArguments
    subject_kind = SubjectKind.FUNCTION
    has_token = False

    def aims(self, subject: Subject, said: SourceDocument, reader: StateReader) -> Sequence[Aim]:
        """Of each queue that feeds the function by the source's word, the dead letters, if there are any."""
        found: list[Aim] = []
        for queue in _fed_by(subject.id, said):
            dead = dead_letters_of(queue, reader)
            if dead and not _state(dead, reader)["is_empty"]:
                found.append(Aim(target=dead, arguments={"destination": queue, "per_second": PER_SECOND}))
        return found

    def read(self, aim: Aim, reader: StateReader) -> Reading:
        state = _state(aim.target, reader)
        return Reading(state=state, is_settled=not state["is_moving"])

    def problems(self, aim: Aim, live: Reading, reader: StateReader) -> Sequence[str]:
        queue, found = str(aim.arguments["destination"]), list[str]()
        if dead_letters_of(queue, reader) != aim.target:
            found.append(f"{aim.target} is not the dead-letter queue of {queue}")
        if live.state["is_moving"]:
            found.append("messages are being moved already")
        waiting = _waiting(aim.target, reader)
        if waiting > MOST_MESSAGES:
            found.append(f"{waiting} messages wait, more than {MOST_MESSAGES}: a person has to move them in pieces")
        if not 1 <= int(str(aim.arguments["per_second"])) <= PER_SECOND:
            found.append(f"at most {PER_SECOND} messages a second go back")
        return found

    def expected(self, aim: Aim, state: Item) -> Item:
        return {"is_empty": True, "is_moving": False}

    def undo(self, aim: Aim, state: Item) -> Item | None:
        return None

    def calls(self, aim: Aim, token: str | None) -> tuple[ApiCall, ...]:
        destination = str(aim.arguments["destination"])
        reading = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes")
        return (
            ApiCall(
                service="sqs",
                operation="start_message_move_task",
                parameters={
                    "SourceArn": aim.target,
                    "DestinationArn": destination,
                    "MaxNumberOfMessagesPerSecond": aim.arguments["per_second"],
                },
                action="sqs:StartMessageMoveTask",
                resource=aim.target,
                # SQS moves them with the caller's own permissions.
                also=(*((one, aim.target) for one in reading), ("sqs:SendMessage", destination)),
            ),
        )

    def touches(self, aim: Aim, reader: StateReader) -> Sequence[str]:
        return [aim.target, str(aim.arguments["destination"])]


def dead_letters_of(queue: str, reader: StateReader) -> str:
    """The ARN of the queue's dead-letter queue; empty without one, or when the queue is gone."""
    try:
        raw = _attributes(queue, reader, "RedrivePolicy").get("RedrivePolicy")
    except NotFound:
        return ""
    policy: Item = json.loads(str(raw or "{}"))
    return str(policy.get("deadLetterTargetArn") or "")


def _fed_by(function: str, said: SourceDocument) -> list[str]:
    match said.source.kind:
        case SourceKind.BASELINE:
            kept = at_path(said.document, "configuration", "event_sources")
            sources = list(kept.values()) if isinstance(kept, Mapping) else []
        case SourceKind.TRAIL_EVENT:
            is_it = is_call(said.document, "CreateEventSourceMapping") and is_about_function(said.document, function)
            sources = [{"EventSourceArn": requested(said.document, "eventSourceArn")}] if is_it else []
        case _:
            sources = []
    arns = [str(at_path(one, "EventSourceArn")) for one in sources]
    return [arn for arn in arns if arn.split(":")[2:3] == ["sqs"]]


def _state(queue: str, reader: StateReader) -> Item:
    listed = reader.read("sqs", "list_message_move_tasks", SourceArn=queue, MaxResults=1)
    statuses = [field(one, "status") for one in items(listed.get("Results", []))]
    is_moving = any(one in ("RUNNING", "CANCELLING") for one in statuses)
    return {"is_empty": _waiting(queue, reader) == 0, "is_moving": is_moving}


def _waiting(queue: str, reader: StateReader) -> int:
    return sum(int(str(count)) for count in _attributes(queue, reader, *_COUNTS).values())


def _attributes(queue: str, reader: StateReader, *names: str) -> Item:
    arn = parse_arn(queue)
    url = reader.read("sqs", "get_queue_url", QueueName=arn.resource, QueueOwnerAWSAccountId=arn.account)["QueueUrl"]
    found = reader.read("sqs", "get_queue_attributes", QueueUrl=url, AttributeNames=list(names)).get("Attributes")
    return {name: value for name, value in found.items() if name in names} if isinstance(found, Mapping) else {}
