"""`node.service.restart`: restarts kubelet or containerd."""

from affidavit.evidence.diagnosis import FaultType, RiskLevel
from affidavit.remediation.actions.nodes.ssm_command_base import NodeCommand
from affidavit.remediation.plan.plan_record import UndoClass

# Which service a fault is about. A restart of the other one would repair nothing.
SERVICES = {FaultType.NODE_KUBELET: "restart-kubelet", FaultType.NODE_RUNTIME: "restart-containerd"}


class RestartService(NodeCommand):
    name = "node.service.restart"
    risk = RiskLevel.MEDIUM
    undo_class = UndoClass.COMPENSATING
    repairs = frozenset(SERVICES)
    operations = tuple(SERVICES.values())
