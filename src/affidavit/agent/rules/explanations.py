"""Why an action was denied: the policy that does it, found in what IAM and the network answered."""

from collections.abc import Mapping
from typing import Any, cast

from affidavit.agent.rules.facts import IAM, NETWORK, Facts
from affidavit.agent.rules.fault import proofs
from affidavit.agent.rules.policies import Document, Says, covers, judge, matching, statements
from affidavit.evidence.diagnosis import EvidencePointer
from affidavit.workloads.denials import Denial

CHANGED_SINCE = "by now, so what denied it was not seen"
Explanation = tuple[str, tuple[EvidencePointer, ...], tuple[str, ...], str]


def explanation(facts: Facts, denial: Denial | None, message: str) -> Explanation:
    """The cause in words, what shows it, the resources it names, and what could not be seen."""
    role = str(facts.iam.get("role_name") or "the function's role")
    if not facts.iam or denial is None:
        return f"which policy of {role} does it was not seen", (), (), "the policies behind the denial were not read"
    for explain in (_by_boundary, _by_resource_policy, _by_endpoint, _by_statement):
        found = explain(facts, denial, message)
        if found is not None:
            return found
    if "service control policy" in message:
        return (
            "a service control policy of the organization forbids it",
            (),
            (),
            "service control policies cannot be read from here",
        )
    decision = decision_on(facts, denial)
    if decision is not None:
        place, said = decision
        pointer = facts.point(
            IAM, "simulated_decisions", place, "decision", shows=f"IAM's simulator on {denial.action}."
        )
        acted = facts.point(IAM, "simulated_decisions", place, "action", shows="The action that was simulated.")
        if said.get("decision") != "allowed":
            return f"no policy of {role} allows it", proofs(pointer, acted), (), ""
        gap = "IAM's simulator allows it; the denial may come from elsewhere"
        return (
            f"the policies of {role} allow it {CHANGED_SINCE}",
            proofs(pointer, acted),
            (),
            gap,
        )
    return _by_silence(facts, denial, role)


def _by_silence(facts: Facts, denial: Denial, role: str) -> Explanation:
    documents = {**facts.iam.get("inline_policies", {}), **facts.iam.get("attached_policy_documents", {})}
    said = judge(documents.values(), denial.action, denial.resource)
    if said is not Says.SILENT:
        return _by_contradiction(facts, denial, role)
    pointers = [
        facts.point(
            IAM,
            "inline_policies",
            name,
            *one.place,
            "Action",
            *_first(one.body.get("Action")),
            shows=f"What {name} allows instead.",
        )
        for name, document in facts.iam.get("inline_policies", {}).items()
        for one in list(statements(document))[:1]
    ]
    attached = facts.point(IAM, "role_name", shows="The role whose policies were read.")
    return f"the policies of {role} hold no permission for it", proofs(attached, *pointers[:3]), (), ""


def _by_contradiction(facts: Facts, denial: Denial, role: str) -> Explanation:
    """The log says denied, a policy says allowed: on what, under which condition, or since when is not known."""
    pointers = [
        facts.point(IAM, group, name, *one.place, "Effect", shows=f"{name} speaks of {denial.action}.")
        for group in ("inline_policies", "attached_policy_documents")
        for name, document in cast("Mapping[str, Document]", facts.iam.get(group, {})).items()
        for one in matching([document], denial.action, denial.resource)
    ]
    gap = "a policy seems to allow it; what denies it was not seen"
    cause = f"a policy of {role} seems to allow it {CHANGED_SINCE}"
    return cause, proofs(*pointers[:3]), (), gap


def _first(value: object) -> tuple[int, ...]:
    return (0,) if isinstance(value, list) and value else ()


def _by_boundary(facts: Facts, denial: Denial, message: str) -> Explanation | None:
    boundary = facts.iam.get("permissions_boundary")
    decision = decision_on(facts, denial)
    is_blocked = decision is not None and decision[1].get("allowed_by_boundary") is False
    if not boundary or not (is_blocked or "permissions boundary" in message):
        return None
    shown = facts.point(IAM, "permissions_boundary", shows="The boundary on the role.")
    simulated = (
        facts.point(IAM, "simulated_decisions", decision[0], "allowed_by_boundary", shows="The boundary forbids it.")
        if decision
        else None
    )
    return f"the permissions boundary {boundary} does not allow it", proofs(shown, simulated), (str(boundary),), ""


def _by_resource_policy(facts: Facts, denial: Denial, message: str) -> Explanation | None:
    if "resource-based policy" not in message:
        return None
    for arn, document in cast("Mapping[str, Document]", facts.iam.get("resource_policies", {})).items():
        for one in statements(document):
            if one.effect == "Deny" and covers(one, denial.action, denial.resource):
                shown = facts.point(
                    IAM, "resource_policies", arn, *one.place, "Effect", shows=f"A Deny in the policy on {arn}."
                )
                return f"the policy on {arn} denies it", proofs(shown), (arn,), ""
    return "a policy on the resource denies it", (), (), "the policy on that resource was not read"


def _by_endpoint(facts: Facts, denial: Denial, message: str) -> Explanation | None:
    if "VPC endpoint policy" not in message:
        return None
    service = denial.action.partition(":")[0]
    for place, endpoint in enumerate(facts.network.get("endpoints", [])):
        document = endpoint.get("policy")
        if (
            document
            and str(endpoint["service"]).endswith(f".{service}")
            and not matching([document], denial.action, denial.resource)
        ):
            one = next(iter(statements(document)), None)
            parts = (*one.place, "Resource", *_first(one.body.get("Resource"))) if one else ()
            shown = facts.point(
                NETWORK, "endpoints", place, "policy", *parts, shows="What the endpoint's policy lets through."
            )
            return (
                f"the policy of VPC endpoint {endpoint['endpoint_id']} does not allow it",
                proofs(shown),
                (endpoint["endpoint_id"],),
                "",
            )
    return "the policy of a VPC endpoint does not allow it", (), (), "that endpoint's policy was not read"


def _by_statement(facts: Facts, denial: Denial, message: str) -> Explanation | None:
    for group in ("inline_policies", "attached_policy_documents"):
        for name, document in cast("Mapping[str, Document]", facts.iam.get(group, {})).items():
            for one in matching([document], denial.action, denial.resource):
                if one.effect == "Deny":
                    shown = facts.point(IAM, group, name, *one.place, "Effect", shows=f"{name} denies it.")
                    decision = decision_on(facts, denial)
                    simulated = (
                        facts.point(
                            IAM, "simulated_decisions", decision[0], "decision", shows="IAM's simulator agrees."
                        )
                        if decision
                        else None
                    )
                    return f"the policy {name} denies it", proofs(shown, simulated), (name,), ""
    return None


def decision_on(facts: Facts, denial: Denial) -> tuple[int, Mapping[str, Any]] | None:
    """Of the same action on the same resource: on another one it may well be allowed."""
    listed = cast("list[Mapping[str, Any]]", facts.iam.get("simulated_decisions", []))
    return next(((place, one) for place, one in enumerate(listed) if _is_about(one, denial)), None)


def _is_about(decision: Mapping[str, Any], denial: Denial) -> bool:
    is_resource = denial.resource is None or decision.get("resource") == denial.resource
    return decision.get("action") == denial.action and is_resource
