"""Permission faults: what the logs show denied, explained by the policy that does it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from affidavit.agent.rules.facts import CONFIG, IAM, NETWORK, Facts
from affidavit.agent.rules.fault import Fault, Remedy, names, proofs
from affidavit.agent.rules.policies import Document, Says, covers, judge, matching, statements, texts
from affidavit.agent.rules.runs import Sign
from affidavit.evidence.diagnosis import EvidencePointer, FaultType, IncidentSeverity, RiskLevel
from affidavit.ports import LogLine
from affidavit.workloads.denials import Denial, denials

LAMBDA = "lambda.amazonaws.com"


def permission_faults(facts: Facts) -> Iterator[Fault]:
    yield from _role_faults(facts)
    yield from _environment_key(facts)
    seen: set[str] = set()
    for sign in _denied_now(facts):
        for denial in denials([LogLine(at=0, message=sign.message)]) or [None]:
            label = denial.action if denial else ""
            if label not in seen and not _is_granted_since(facts, denial, sign):
                seen.add(label)
                yield _denial_fault(facts, sign, denial)


def _denied_now(facts: Facts) -> list[Sign]:
    """Every action may be denied on a line of its own, so all lines of the newest runs count, not just the last."""
    if not facts.history.current("denied"):
        return []
    runs = facts.history.with_sign("denied")[-20:]
    return [sign for run in reversed(runs) for sign in run.signs if sign.kind == "denied"]


def _is_granted_since(facts: Facts, denial: Denial | None, sign: Sign) -> bool:
    """IAM's simulator allows it now, and every run after that line fared better: then it is over."""
    if denial is None:
        return False
    decision = _decision(facts, denial)
    return decision is not None and decision[1].get("decision") == "allowed" and not _is_in_last_runs(facts, sign)


def _is_in_last_runs(facts: Facts, sign: Sign) -> bool:
    return any(one.event == sign.event for run in facts.history.runs[-20:] for one in run.signs) and any(
        one.kind == "denied" for run in facts.history.runs[-3:] for one in run.signs
    )


def _denial_fault(facts: Facts, sign: Sign, denial: Denial | None) -> Fault:
    action = denial.action if denial else "an action the log does not name"
    explained = _explanation(facts, denial, sign.message)
    role = str(facts.iam.get("role_name") or "")
    logged = facts.quote(sign, shows=f"AWS denied {action} to the function.")
    cause, pointers, extra, gap = explained
    return Fault(
        kind=FaultType.PERMISSION_LOSS,
        cause=f"access to {action} is denied: {cause}",
        resources=names(role or facts.function, *extra, _known_resource(facts, denial)),
        proof=(logged, *pointers),
        remedy=Remedy(
            action=f"Allow {action} again",
            details=f"{cause[0].upper()}{cause[1:]}. Put back the permission there, no wider than it was.",
            risk=RiskLevel.MEDIUM,
        ),
        explains=frozenset({"denied", "raised"}),
        gaps=(gap,) if gap else (),
    )


def _known_resource(facts: Facts, denial: Denial | None) -> str | None:
    """The denied resource, if IAM's own answer names it too: a log line alone could name anything."""
    resource = denial.resource if denial else None
    return resource if resource and resource in json.dumps(facts.iam) else None


Explanation = tuple[str, tuple[EvidencePointer, ...], tuple[str, ...], str]


def _explanation(facts: Facts, denial: Denial | None, message: str) -> Explanation:
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
    decision = _decision(facts, denial)
    if decision is not None:
        place, said = decision
        pointer = facts.point(
            IAM, "simulated_decisions", place, "decision", shows=f"IAM's simulator on {denial.action}."
        )
        acted = facts.point(IAM, "simulated_decisions", place, "action", shows="The action that was simulated.")
        gap = (
            "" if said.get("decision") != "allowed" else "IAM's simulator allows it; the denial may come from elsewhere"
        )
        return f"no policy of {role} allows it", proofs(pointer, acted), (), gap
    return _by_silence(facts, denial, role)


def _by_silence(facts: Facts, denial: Denial, role: str) -> Explanation:
    documents = {**facts.iam.get("inline_policies", {}), **facts.iam.get("attached_policy_documents", {})}
    said = judge(documents.values(), denial.action, denial.resource)
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
    gap = "" if said is Says.SILENT else "a policy seems to allow it; what denies it was not seen"
    attached = facts.point(IAM, "role_name", shows="The role whose policies were read.")
    return f"the policies of {role} hold no permission for it", proofs(attached, *pointers[:3]), (), gap


def _first(value: object) -> tuple[int, ...]:
    return (0,) if isinstance(value, list) and value else ()


def _by_boundary(facts: Facts, denial: Denial, message: str) -> Explanation | None:
    boundary = facts.iam.get("permissions_boundary")
    decision = _decision(facts, denial)
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
                    decision = _decision(facts, denial)
                    simulated = (
                        facts.point(
                            IAM, "simulated_decisions", decision[0], "decision", shows="IAM's simulator agrees."
                        )
                        if decision
                        else None
                    )
                    return f"the policy {name} denies it", proofs(shown, simulated), (name,), ""
    return None


def _decision(facts: Facts, denial: Denial) -> tuple[int, Mapping[str, Any]] | None:
    listed = facts.iam.get("simulated_decisions", [])
    return next(((place, one) for place, one in enumerate(listed) if one.get("action") == denial.action), None)


def _role_faults(facts: Facts) -> Iterator[Fault]:
    role = str(facts.iam.get("role_name") or "")
    if facts.iam and facts.iam.get("role_exists") is False:
        shown = facts.point(IAM, "role_exists", shows="IAM does not know the role that the function names.")
        yield _role_fault(
            role,
            f"the execution role {role} does not exist",
            proofs(shown),
            "Create the role again, or point the function at another",
        )
    trust = facts.iam.get("trust_policy")
    if trust and not _trusts_lambda(trust):
        one = next(iter(statements(trust)), None)
        parts = ("trust_policy", *one.place, "Principal", "Service") if one else ("trust_policy",)
        shown = facts.point(IAM, *parts, shows="Who may assume the role; Lambda is not among them.") or facts.point(
            IAM, "trust_policy", shows="The role's trust policy."
        )
        update = (
            facts.point(CONFIG, "LastUpdateStatusReason", shows="What Lambda said.")
            if facts.config.get("LastUpdateStatusReason")
            else None
        )
        yield _role_fault(
            role,
            f"Lambda may not assume the execution role {role}",
            proofs(shown, update),
            f"Let {LAMBDA} assume the role again",
        )


def _role_fault(role: str, cause: str, proof: tuple[EvidencePointer, ...], action: str) -> Fault:
    return Fault(
        kind=FaultType.PERMISSION_LOSS,
        cause=cause,
        resources=names(role),
        proof=proof,
        remedy=Remedy(
            action=action, details=f"{cause[0].upper()}{cause[1:]}, so every run fails.", risk=RiskLevel.MEDIUM
        ),
        severity=IncidentSeverity.CRITICAL,
        explains=frozenset({"update-failed", "state-failed", "exited"}),
    )


def _trusts_lambda(trust: Document) -> bool:
    return any(
        one.effect == "Allow" and {LAMBDA, "*"} & _services(one.body.get("Principal")) for one in statements(trust)
    )


def _services(principal: object) -> set[str]:
    if isinstance(principal, str):
        return {principal}
    service: object = cast("Mapping[str, object]", principal).get("Service") if isinstance(principal, Mapping) else None
    return set(texts(service))


def _environment_key(facts: Facts) -> Iterator[Fault]:
    said = facts.config.get("EnvironmentError")
    signs = facts.history.current("environment-key-denied")
    if not signs and not (said and "denied" in str(said).lower()):
        return
    key = str(facts.config.get("KMSKeyArn") or "the key of the environment")
    document = next((one.get("policy") for one in facts.iam.get("kms_keys", []) if one.get("policy")), None)
    one = next(iter(statements(document)), None) if document else None
    policy = (
        facts.point(
            IAM, "kms_keys", 0, "policy", *one.place, "Principal", "AWS", shows="Whom the key's policy lets use it."
        )
        if one
        else None
    )
    logged = facts.quote(signs[0], shows="Lambda may not use the key.") if signs else None
    shown = facts.point(CONFIG, "EnvironmentError", shows="Lambda could not decrypt the environment.") if said else None
    yield Fault(
        kind=FaultType.PERMISSION_LOSS,
        cause=f"kms:Decrypt is denied: the role may not use the KMS key {key} of the environment variables",
        resources=names(key, facts.iam.get("role_name")),
        proof=proofs(logged, shown, policy),
        remedy=Remedy(
            action="Let the role use the key again",
            details="Allow kms:Decrypt in the key's policy for the function's role.",
            risk=RiskLevel.MEDIUM,
        ),
        severity=IncidentSeverity.CRITICAL,
        explains=frozenset({"environment-key-denied", "denied", "exited"}),
    )
