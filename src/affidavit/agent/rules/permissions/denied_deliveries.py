"""Results and failed events that the role may not send where the function is set to send them. Lambda logs nothing."""

from collections.abc import Iterator

from affidavit.agent.rules.fault import Fault, Remedy, names, proofs
from affidavit.agent.rules.ledger_facts import CONFIG, IAM, Facts
from affidavit.agent.rules.permissions.policies import Says, judge
from affidavit.evidence.diagnosis import FaultType, RiskLevel
from affidavit.workloads.event_destinations import DELIVERIES, sending_action


def undelivered(facts: Facts) -> Iterator[Fault]:
    for metric, field, what in DELIVERIES:
        target = str(facts.config.get(field) or "")
        action = sending_action(target)
        if action is None or not facts.metrics.get(metric) or not facts.iam or not _is_silent(facts, action, target):
            continue
        yield Fault(
            kind=FaultType.PERMISSION_LOSS,
            cause=f"the role may not {action} to {target}, where {what} are sent, so they are lost",
            resources=names(facts.iam.get("role_name"), target),
            proof=proofs(
                facts.point(CONFIG, "Metrics", metric, shows="What could not be sent."),
                facts.point(CONFIG, field, shows="Where it should go."),
                facts.point(IAM, "role_name", shows="The role whose policies were read."),
            ),
            remedy=Remedy(
                action=f"Allow {action} where {what} are sent",
                details="Without it every one of them is dropped.",
                risk=RiskLevel.MEDIUM,
            ),
        )


def _is_silent(facts: Facts, action: str, target: str) -> bool:
    documents = {**facts.iam.get("inline_policies", {}), **facts.iam.get("attached_policy_documents", {})}
    return judge(documents.values(), action, target) is Says.SILENT
