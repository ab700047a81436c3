"""Permission faults: what the logs show denied, explained by the policy that does it."""

import json
from collections.abc import Iterator, Mapping
from typing import cast

from affidavit.agent.rules.explanations import CHANGED_SINCE, explanation
from affidavit.agent.rules.facts import CONFIG, IAM, LOGS, Facts
from affidavit.agent.rules.fault import Fault, Passed, Remedy, names, proofs
from affidavit.agent.rules.policies import Document, statements, texts
from affidavit.agent.rules.recovery import recovery
from affidavit.agent.rules.runs import Run, Sign
from affidavit.evidence.diagnosis import EvidencePointer, FaultType, IncidentSeverity, RiskLevel
from affidavit.ports import LogLine
from affidavit.workloads.denials import Denial, denials

LAMBDA = "lambda.amazonaws.com"


def permission_faults(facts: Facts) -> Iterator[Fault]:
    yield from _role_faults(facts)
    yield from _environment_key(facts)
    seen: set[str] = set()
    for sign, denial in _denied_now(facts):
        label = denial.action if denial else ""
        if label not in seen and recovery(facts, denial, sign) is None:
            seen.add(label)
            yield _denial_fault(facts, sign, denial)


def passed_denials(facts: Facts) -> Iterator[Passed]:
    """What was denied lately and is not any more: no fault, but a reader of the log would wonder."""
    seen: set[str] = set()
    for sign, denial in _denied_now(facts):
        over = recovery(facts, denial, sign)
        if denial is not None and over is not None and denial.action not in seen:
            seen.add(denial.action)
            earlier = facts.quote(sign, shows=f"An earlier denial of {denial.action}, over by now.")
            yield Passed(proof=proofs(earlier, _went_well(facts, over.run)), gap=over.gap)


def _went_well(facts: Facts, run: Run | None) -> EvidencePointer | None:
    if run is None or run.report is None:
        return None
    return facts.point(LOGS, "events", run.report, "message", shows="A run since, which ended well.")


def _denied_now(facts: Facts) -> list[tuple[Sign, Denial | None]]:
    """Every action may be denied on a line of its own, so all lines of the newest runs count, not just the last."""
    if not facts.history.current("denied"):
        return []
    runs = facts.history.with_sign("denied")[-20:]
    signs = [sign for run in reversed(runs) for sign in run.signs if sign.kind == "denied"]
    return [(sign, one) for sign in signs for one in denials([LogLine(at=0, message=sign.message)]) or [None]]


def _denial_fault(facts: Facts, sign: Sign, denial: Denial | None) -> Fault:
    action = denial.action if denial else "an action the log does not name"
    explained = explanation(facts, denial, sign.message)
    role = str(facts.iam.get("role_name") or "")
    logged = facts.quote(sign, shows=f"AWS denied {action} to the function.")
    cause, pointers, extra, gap = explained
    return Fault(
        kind=FaultType.PERMISSION_LOSS,
        cause=f"access to {action} {'was' if cause.endswith(CHANGED_SINCE) else 'is'} denied: {cause}",
        resources=names(role or facts.function, *extra, _known_resource(facts, denial)),
        proof=(logged, *pointers),
        remedy=_remedy(action, cause),
        explains=frozenset({"denied", "raised"}),
        gaps=(gap,) if gap else (),
        is_doubtful=cause.endswith(CHANGED_SINCE),
    )


def _remedy(action: str, cause: str) -> Remedy:
    said = f"{cause[0].upper()}{cause[1:]}."
    if cause.endswith(CHANGED_SINCE):
        details = f"{said} Run the function once and read its newest log lines before anything is changed."
        return Remedy(action=f"See whether {action} is still denied", details=details)
    details = f"{said} Put back the permission there, no wider than it was."
    return Remedy(action=f"Allow {action} again", details=details, risk=RiskLevel.MEDIUM)


def _known_resource(facts: Facts, denial: Denial | None) -> str | None:
    """The denied resource, if IAM's own answer names it too: a log line alone could name anything."""
    resource = denial.resource if denial else None
    return resource if resource and resource != "*" and resource in json.dumps(facts.iam) else None


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
