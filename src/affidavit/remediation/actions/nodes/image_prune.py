"""`node.images.prune`: removes images that nothing uses."""

from affidavit.evidence.diagnosis import FaultType, RiskLevel
from affidavit.remediation.actions.nodes.ssm_command_base import NodeCommand
from affidavit.remediation.plan.plan_record import UndoClass


class PruneImages(NodeCommand):
    """Pods pull what they need again."""

    name = "node.images.prune"
    risk = RiskLevel.MEDIUM
    undo_class = UndoClass.COMPENSATING
    repairs = frozenset({FaultType.NODE_DISK})
    operations = ("prune-images",)
