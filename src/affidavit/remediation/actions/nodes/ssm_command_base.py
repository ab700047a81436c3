"""What the actions share that run our SSM document on a node: the call, and its success as the state to read back."""

from collections.abc import Sequence
from typing import Literal

from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.ports.argument_sources import SourceDocument, SourceKind
from affidavit.ports.aws_reads_and_changes import ApiCall, StateReader
from affidavit.ports.json import Item
from affidavit.remediation.actions.action_type import Aim, Arguments, Reading
from affidavit.remediation.actions.arns import parse_arn
from affidavit.remediation.actions.nodes.pinned_document import NAME, deployed_document
from affidavit.remediation.actions.source_document_values import at_path
from affidavit.remediation.actions.trail_event_fields import items

NOTHING = "nothing"
_UNSETTLED = ("Pending", "InProgress", "Cancelling", "Delayed")


class CommandArguments(Arguments):
    """`nothing` stands in an undo alone: what a restart did stays, and there is nothing to send."""

    instance_id: str
    instance_arn: str
    operation: Literal["restart-kubelet", "restart-containerd", "prune-images", "reboot", "nothing"]
    version: str
    hash: str


class NodeCommand:
    """The state is how often the document ended well on the node: it grows by one, whoever ran it."""

    subject_kind = SubjectKind.NODE
    has_token = False
    arguments: type[Arguments] = CommandArguments
    operations: tuple[str, ...]

    def aims(self, subject: Subject, said: SourceDocument, reader: StateReader) -> Sequence[Aim]:
        document, node = at_path(said.document, "document"), said.document.get("instance_id")
        if said.source.kind is not SourceKind.NODE or subject.id != node:
            return []
        target = self.target(said.document)
        if document is None or not target:
            return []
        pinned = {"version": at_path(document, "version"), "hash": at_path(document, "hash")}
        named: Item = {"instance_id": subject.id, "instance_arn": said.document["instance_arn"], **pinned}
        return [Aim(target=target, arguments={**named, "operation": one}) for one in self.operations]

    def target(self, said: Item) -> str:
        """The ARN that is locked; empty when this source does not allow the action."""
        return str(said["instance_arn"])

    def read(self, aim: Aim, reader: StateReader) -> Reading:
        asked: Item = {
            "InstanceId": aim.arguments["instance_id"],
            "Filters": [{"key": "DocumentName", "value": NAME}],
        }
        listed = reader.read_all("ssm", "list_commands", "Commands", **asked)
        ours = [str(one.get("Status")) for one in items(list(listed)) if one.get("DocumentName") == NAME]
        return Reading(
            state={"succeeded": ours.count("Success")}, is_settled=not any(one in _UNSETTLED for one in ours)
        )

    def problems(self, aim: Aim, live: Reading, reader: StateReader) -> Sequence[str]:
        found = [] if live.is_settled else [f"a repair of {aim.arguments['instance_id']} runs already"]
        document = deployed_document(reader)
        pinned = (aim.arguments["version"], aim.arguments["hash"])
        if document is None or (document["version"], document["hash"]) != pinned:
            found.append(f"the document {NAME} is not the one that was pinned")
        which: Item = {"Filters": [{"Key": "InstanceIds", "Values": [aim.arguments["instance_id"]]}]}
        seen = items(list(reader.read_all("ssm", "describe_instance_information", "InstanceInformationList", **which)))
        is_reached = [one for one in seen if one.get("InstanceId") == aim.arguments["instance_id"]]
        if not is_reached or is_reached[0].get("PingStatus") != "Online":
            found.append(f"SSM does not reach {aim.arguments['instance_id']}")
        return found

    def expected(self, aim: Aim, state: Item) -> Item:
        if aim.arguments["operation"] == NOTHING:
            return state
        return {"succeeded": int(str(state["succeeded"])) + 1}

    def undo(self, aim: Aim, state: Item) -> Item | None:
        return {**aim.arguments, "operation": NOTHING}

    def calls(self, aim: Aim, token: str | None) -> tuple[ApiCall, ...]:
        if aim.arguments["operation"] == NOTHING:
            return ()
        node = parse_arn(str(aim.arguments["instance_arn"]))
        document = f"arn:{node.partition}:ssm:{node.region}:{node.account}:document/{NAME}"
        return (
            ApiCall(
                service="ssm",
                operation="send_command",
                parameters={
                    "DocumentName": NAME,
                    "DocumentVersion": aim.arguments["version"],
                    "DocumentHash": aim.arguments["hash"],
                    "DocumentHashType": "Sha256",
                    "InstanceIds": [aim.arguments["instance_id"]],
                    "Parameters": {"Operation": [aim.arguments["operation"]]},
                },
                action="ssm:SendCommand",
                resource=str(aim.arguments["instance_arn"]),
                # SSM asks for both, the node and what is run on it.
                also=(("ssm:SendCommand", document),),
            ),
        )

    def touches(self, aim: Aim, reader: StateReader) -> Sequence[str]:
        return list(dict.fromkeys([aim.target, str(aim.arguments["instance_arn"])]))
