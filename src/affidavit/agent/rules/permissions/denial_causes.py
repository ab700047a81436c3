"""Why an action was denied: the policy that does it, found in what IAM and the network answered."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from affidavit.agent.rules.fault import proofs
from affidavit.agent.rules.ledger_facts import IAM, NETWORK, Facts
from affidavit.agent.rules.permissions.policies import (
    Document,
    PolicyStatement,
    Says,
    covers,
    judge,
    matching,
    statements,
    texts,
)
from affidavit.evidence.diagnosis import EvidencePointer
from affidavit.workloads.denials import Denial

CHANGED_SINCE = "by now, so what denied it was not seen"
_GROUPS = ("inline_policies", "attached_policy_documents")


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """The cause in words, what shows it, the resources it names, and what could not be seen."""

    cause: str
    proof: tuple[EvidencePointer, ...] = ()
    resources: tuple[str, ...] = ()
    gap: str = ""
    is_unexplained: bool = False
    """What was read allows it: who denies it stays open."""


def explanation(facts: Facts, denial: Denial | None, message: str) -> Explanation:
    role = str(facts.iam.get("role_name") or "the function's role")
    if not facts.iam or denial is None:
        return Explanation(
            cause=f"which policy of {role} does it was not seen", gap="the policies behind the denial were not read"
        )
    message = message.lower()
    for explain in (_by_organization, _by_session, _by_boundary, _by_resource_policy, _by_endpoint, _by_statement):
        found = explain(facts, denial, message)
        if found is not None:
            return found
    return _by_decision(facts, denial, role) or _by_silence(facts, denial, role)


def _by_decision(facts: Facts, denial: Denial, role: str) -> Explanation | None:
    decision = decision_on(facts, denial)
    if decision is None:
        return None
    place, said = decision
    at = ("simulated_decisions", place)
    pointer = facts.point(IAM, *at, "decision", shows=f"IAM's simulator on {denial.action}.")
    acted = facts.point(IAM, *at, "action", shows="The action that was simulated.")
    if said.get("decision") == "allowed":
        return Explanation(
            cause=f"the policies of {role} allow it {CHANGED_SINCE}",
            proof=proofs(pointer, acted),
            gap="IAM's simulator allows it; the denial may come from elsewhere",
            is_unexplained=True,
        )
    if conditional := _conditional(facts, denial):
        name, where, one = conditional
        shown = facts.point(IAM, where, name, *one.place, "Effect", shows=f"{name} allows it under a condition.")
        cause = f"the policy {name} allows it only under a condition that the request does not meet"
        return Explanation(cause=cause, proof=proofs(pointer, acted, shown), resources=(name,))
    near, shown = _near(facts, denial)
    return Explanation(cause=f"no policy of {role} allows it{near}", proof=proofs(pointer, acted, *shown))


def _conditional(facts: Facts, denial: Denial) -> tuple[str, str, PolicyStatement] | None:
    for where in _GROUPS:
        for name, document in cast("Mapping[str, Document]", facts.iam.get(where, {})).items():
            for one in matching([document], denial.action, denial.resource):
                if one.effect == "Allow" and one.body.get("Condition"):
                    return name, where, one
    return None


def _near(facts: Facts, denial: Denial) -> tuple[str, tuple[EvidencePointer, ...]]:
    """Where a policy allows the action on something else: the usual slip is in the resource."""
    for where in _GROUPS:
        for name, document in cast("Mapping[str, Document]", facts.iam.get(where, {})).items():
            for one in matching([document], denial.action, None):
                allowed = texts(one.body.get("Resource"))
                if one.effect != "Allow" or not allowed:
                    continue
                step = ("Resource", 0) if isinstance(one.body.get("Resource"), list) else ("Resource",)
                shown = facts.point(IAM, where, name, *one.place, *step, shows=f"What {name} allows it on.")
                return f" on it; {name} allows it on {', '.join(allowed[:3])}", proofs(shown)
    return "", ()


def _by_silence(facts: Facts, denial: Denial, role: str) -> Explanation:
    documents = {**facts.iam.get("inline_policies", {}), **facts.iam.get("attached_policy_documents", {})}
    if judge(documents.values(), denial.action, denial.resource) is not Says.SILENT:
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
    near, shown = _near(facts, denial)
    attached = facts.point(IAM, "role_name", shows="The role whose policies were read.")
    return Explanation(
        cause=f"the policies of {role} hold no permission for it{near or _others(facts, denial)}",
        proof=proofs(attached, *shown, *pointers[:3]),
    )


def _others(facts: Facts, denial: Denial) -> str:
    """What the role may use of the same service, where the denial names no resource."""
    if denial.resource is not None:
        return ""
    mark = f":{denial.service}:"
    named = [
        resource
        for group in _GROUPS
        for document in cast("Mapping[str, Document]", facts.iam.get(group, {})).values()
        for one in statements(document)
        for resource in texts(one.body.get("Resource"))
        if mark in resource
    ]
    return f" (of this service they name {', '.join(dict.fromkeys(named[:4]))})" if named else ""


def _by_contradiction(facts: Facts, denial: Denial, role: str) -> Explanation:
    """The log says denied, a policy says allowed: on what, under which condition, or since when is not known."""
    found = [
        (group, name, one)
        for group in _GROUPS
        for name, document in cast("Mapping[str, Document]", facts.iam.get(group, {})).items()
        for one in matching([document], denial.action, denial.resource)
    ]
    if found and all(one.body.get("Condition") for _, _, one in found):
        group, name, one = found[0]
        shown = facts.point(IAM, group, name, *one.place, "Effect", shows=f"{name} allows it under a condition.")
        return Explanation(
            cause=f"the policy {name} allows it only under a condition", proof=proofs(shown), resources=(name,)
        )
    pointers = [
        facts.point(IAM, group, name, *one.place, "Effect", shows=f"{name} speaks of {denial.action}.")
        for group, name, one in found
    ]
    on = [text for _, _, one in found for text in texts(one.body.get("Resource"))]
    told = f" (on {', '.join(on[:3])})" if denial.resource is None and on else ""
    return Explanation(
        cause=f"a policy of {role}{told} seems to allow it {CHANGED_SINCE}",
        proof=proofs(*pointers[:3]),
        gap="a policy seems to allow it; what denies it was not seen",
        is_unexplained=True,
    )


def _first(value: object) -> tuple[int, ...]:
    return (0,) if isinstance(value, list) and value else ()


def _by_organization(_: Facts, denial: Denial, message: str) -> Explanation | None:
    for words in ("service control policy", "resource control policy"):
        if words in message:
            return Explanation(
                cause=f"a {words} of the organization forbids it",
                gap=f"{words.replace('policy', 'policies')} cannot be read from here",
            )
    return None


def _by_session(_: Facts, denial: Denial, message: str) -> Explanation | None:
    if "session policy" not in message:
        return None
    return Explanation(
        cause="the session policy of the credentials in use does not allow it",
        gap="session policies cannot be read from here",
    )


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
    return Explanation(
        cause=f"the permissions boundary {boundary} does not allow it",
        proof=proofs(shown, simulated),
        resources=(str(boundary),),
    )


def _by_resource_policy(facts: Facts, denial: Denial, message: str) -> Explanation | None:
    if "resource-based policy" not in message:
        return None
    is_deny = "explicit deny" in message
    listed = {
        **cast("Mapping[str, Document]", facts.iam.get("resource_policies", {})),
        **{one["key_arn"]: one["policy"] for one in facts.iam.get("kms_keys", []) if one.get("policy")},
    }
    for arn, document in listed.items():
        if denial.resource and denial.resource != "*" and not denial.resource.startswith(arn):
            continue
        for one in statements(document):
            if one.effect == "Deny" and covers(one, denial.action, denial.resource):
                shown = facts.point(
                    IAM, "resource_policies", arn, *one.place, "Effect", shows=f"A Deny in the policy on {arn}."
                )
                return Explanation(cause=f"the policy on {arn} denies it", proof=proofs(shown), resources=(arn,))
    does = "denies it" if is_deny else "does not allow it"
    on = f" {denial.resource}" if denial.resource and denial.resource != "*" else ""
    return Explanation(
        cause=f"the resource-based policy on the resource{on} {does}", gap="the policy on that resource was not read"
    )


def _by_endpoint(facts: Facts, denial: Denial, message: str) -> Explanation | None:
    if "vpc endpoint policy" not in message:
        return None
    for place, endpoint in enumerate(facts.network.get("endpoints", [])):
        document = endpoint.get("policy")
        if document and str(endpoint["service"]).endswith(f".{denial.service}") and not _lets_through(document, denial):
            one = next(iter(statements(document)), None)
            parts = (*one.place, "Resource", *_first(one.body.get("Resource"))) if one else ()
            shown = facts.point(
                NETWORK, "endpoints", place, "policy", *parts, shows="What the endpoint's policy lets through."
            )
            return Explanation(
                cause=f"the policy of VPC endpoint {endpoint['endpoint_id']} does not allow it",
                proof=proofs(shown),
                resources=(endpoint["endpoint_id"],),
            )
    return Explanation(
        cause="the policy of a VPC endpoint does not allow it", gap="that endpoint's policy was not read"
    )


def _lets_through(document: Document, denial: Denial) -> bool:
    return judge([document], denial.action, denial.resource) is Says.ALLOWS


def _by_statement(facts: Facts, denial: Denial, message: str) -> Explanation | None:
    for group in _GROUPS:
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
                    return Explanation(
                        cause=f"the policy {name} denies it", proof=proofs(shown, simulated), resources=(name,)
                    )
    return None


def is_allowed_by_identity(facts: Facts, denial: Denial) -> bool:
    """IAM's simulator or the role's own policies allow it, under no condition."""
    decision = decision_on(facts, denial)
    if decision is not None:
        return decision[1].get("decision") == "allowed"
    documents = {**facts.iam.get("inline_policies", {}), **facts.iam.get("attached_policy_documents", {})}
    return denial.resource is not None and judge(documents.values(), denial.action, denial.resource) is Says.ALLOWS


def decision_on(facts: Facts, denial: Denial) -> tuple[int, Mapping[str, Any]] | None:
    """Of the same action on the same resource: on another one it may well be allowed."""
    listed = cast("list[Mapping[str, Any]]", facts.iam.get("simulated_decisions", []))
    return next(((place, one) for place, one in enumerate(listed) if _is_about(one, denial)), None)


def _is_about(decision: Mapping[str, Any], denial: Denial) -> bool:
    is_resource = denial.resource is None or decision.get("resource") == denial.resource
    return decision.get("action") == denial.action and is_resource
