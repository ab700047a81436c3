"""`node.reboot`: reboots a node through our SSM document, which ends well only once the node is back."""

from collections.abc import Sequence

from affidavit.evidence.diagnosis import FaultType, RiskLevel
from affidavit.ports.aws_reads_and_changes import StateReader
from affidavit.ports.json import Item
from affidavit.remediation.actions.action_type import Aim, Reading
from affidavit.remediation.actions.nodes.scaling_group_health import group_named, group_problems
from affidavit.remediation.actions.nodes.ssm_command_base import NodeCommand
from affidavit.remediation.actions.source_document_values import at_path
from affidavit.remediation.plan.plan_record import UndoClass


class RebootNode(NodeCommand):
    """Its target is the group, so that one node of it is repaired at a time. What runs on the node is lost."""

    name = "node.reboot"
    risk = RiskLevel.HIGH
    undo_class = UndoClass.NONE
    repairs = frozenset({FaultType.NODE_KERNEL})
    operations = ("reboot",)

    def target(self, said: Item) -> str:
        """Without stored evidence there is none: a reboot destroys what could be collected."""
        return str(at_path(said, "group", "arn") or "") if said.get("has_evidence") is True else ""

    def problems(self, aim: Aim, live: Reading, reader: StateReader) -> Sequence[str]:
        group = group_named(aim.target, reader)
        return [*super().problems(aim, live, reader), *group_problems(str(aim.arguments["instance_id"]), group)]

    def undo(self, aim: Aim, state: Item) -> Item | None:
        return None
