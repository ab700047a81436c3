"""`node.replace`: has Auto Scaling terminate a node and start another; the wanted number stays."""

from collections.abc import Sequence

from affidavit.evidence.diagnosis import FaultType, RiskLevel
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.ports.argument_sources import SourceDocument, SourceKind
from affidavit.ports.aws_reads_and_changes import ApiCall, StateReader
from affidavit.ports.json import Item
from affidavit.remediation.actions.action_type import Aim, Arguments, Reading
from affidavit.remediation.actions.nodes.scaling_group_health import group_named, group_problems, is_whole, members
from affidavit.remediation.actions.source_document_values import at_path
from affidavit.remediation.plan.plan_record import UndoClass


class ReplaceArguments(Arguments):
    instance_id: str
    instance_arn: str


class ReplaceNode:
    """Its target is the group, so that one node of it is replaced at a time."""

    name = "node.replace"
    risk = RiskLevel.HIGH
    undo_class = UndoClass.NONE
    repairs = frozenset({FaultType.NODE_HARDWARE, FaultType.NODE_BOOTSTRAP})
    arguments: type[Arguments] = ReplaceArguments
    subject_kind = SubjectKind.NODE
    has_token = False

    def aims(self, subject: Subject, said: SourceDocument, reader: StateReader) -> Sequence[Aim]:
        """Only with evidence in store: nothing can be collected from a node that is gone."""
        group, node = at_path(said.document, "group", "arn"), said.document.get("instance_id")
        if said.source.kind is not SourceKind.NODE or subject.id != node:
            return []
        if not group or said.document.get("has_evidence") is not True:
            return []
        named: Item = {"instance_id": subject.id, "instance_arn": said.document["instance_arn"]}
        return [Aim(target=str(group), arguments=named)]

    def read(self, aim: Aim, reader: StateReader) -> Reading:
        group = group_named(aim.target, reader)
        is_in_group = aim.arguments["instance_id"] in members(group)
        return Reading(
            state={"is_in_group": is_in_group, "desired": group.get("DesiredCapacity")},
            is_settled=is_in_group or is_whole(group),
        )

    def problems(self, aim: Aim, live: Reading, reader: StateReader) -> Sequence[str]:
        return list(group_problems(str(aim.arguments["instance_id"]), group_named(aim.target, reader)))

    def expected(self, aim: Aim, state: Item) -> Item:
        return {**state, "is_in_group": False}

    def undo(self, aim: Aim, state: Item) -> Item | None:
        return None

    def calls(self, aim: Aim, token: str | None) -> tuple[ApiCall, ...]:
        return (
            ApiCall(
                service="autoscaling",
                operation="terminate_instance_in_auto_scaling_group",
                parameters={"InstanceId": aim.arguments["instance_id"], "ShouldDecrementDesiredCapacity": False},
                action="autoscaling:TerminateInstanceInAutoScalingGroup",
                resource=aim.target,
            ),
        )

    def touches(self, aim: Aim, reader: StateReader) -> Sequence[str]:
        return [aim.target, str(aim.arguments["instance_arn"])]
