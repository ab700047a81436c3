"""What all repairs of a function's network have in common."""

from affidavit.evidence.diagnosis import FaultType
from affidavit.evidence.incident_subject import SubjectKind
from affidavit.remediation.plan.plan_record import UndoClass


class NetworkRepair:
    """Undone to the byte; EC2's calls for it take no token of ours."""

    undo_class = UndoClass.EXACT
    repairs = frozenset({FaultType.NETWORK_BLOCK})
    subject_kind = SubjectKind.FUNCTION
    has_token = False
