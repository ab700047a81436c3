"""Permission faults: what AWS denied to the function, explained by the policy that does it."""

import json
from collections.abc import Iterator

from affidavit.agent.rules.errors.error_on_one_line import brief
from affidavit.agent.rules.failure_reasons import Reason
from affidavit.agent.rules.fault import Fault, Passed, Remedy, names, proofs, sentence
from affidavit.agent.rules.ledger_facts import CONFIG, IAM, LOGS, Facts
from affidavit.agent.rules.permissions.database_logins import LOGIN, database_logins
from affidavit.agent.rules.permissions.denial_causes import (
    CHANGED_SINCE,
    Explanation,
    explanation,
    is_allowed_by_identity,
)
from affidavit.agent.rules.permissions.denied_deliveries import undelivered
from affidavit.agent.rules.permissions.ended_denials import recovery
from affidavit.agent.rules.permissions.policies import Says, identity_documents, judge, near_grants, statements
from affidavit.agent.rules.run_history import PastRun
from affidavit.evidence.diagnosis import EvidencePointer, FaultType, IncidentSeverity, RiskLevel
from affidavit.workloads.denials import Denial, denials_in

_LATEST_RUNS = 20
ENVIRONMENT_KEY = "unable to decrypt the environment variables"
# These name no action; each is explained in its own way.
_WITHOUT_ACTION = ("mount-read-only", LOGIN)


def permission_faults(facts: Facts) -> Iterator[Fault]:
    yield from _environment_key(facts)
    seen: set[str] = set()
    for reason, denial in _denied_now(facts):
        label = denial.action if denial else ""
        if label not in seen and recovery(facts, denial, reason) is None:
            seen.add(label)
            yield _denial_fault(facts, reason, denial)
    yield from _without_action(facts)
    yield from database_logins(facts)
    yield from undelivered(facts)


def passed_denials(facts: Facts) -> Iterator[Passed]:
    """What was denied lately and is not any more: no fault, but a reader of the log would wonder."""
    seen: set[str] = set()
    for reason, denial in _denied_now(facts):
        over = recovery(facts, denial, reason)
        if denial is not None and over is not None and denial.action not in seen:
            seen.add(denial.action)
            earlier = facts.quote(reason, shows=f"An earlier denial of {denial.action}, over by now.")
            yield Passed(proof=proofs(earlier, _went_well(facts, over.run)), gap=over.gap)


def _went_well(facts: Facts, run: PastRun | None) -> EvidencePointer | None:
    if run is None or run.run.report is None:
        return None
    return facts.point(LOGS, "events", run.run.report, "message", shows="A run since, which ended well.")


def _denied_now(facts: Facts) -> list[tuple[Reason, Denial | None]]:
    """Every action may be denied on a line of its own, so all lines of the newest runs count, not just the last."""
    if not [one for one in facts.history.current("denied") if one.label not in _WITHOUT_ACTION]:
        return []
    runs = facts.history.of_family("denied")[-_LATEST_RUNS:]
    reasons = [
        one
        for run in reversed(runs)
        for one in run.reasons
        if one.family == "denied" and one.label not in _WITHOUT_ACTION and ENVIRONMENT_KEY not in one.raw
    ]
    return [(reason, one) for reason in reasons for one in denials_in(reason.raw) or denials_in(reason.text) or [None]]


def _denial_fault(facts: Facts, reason: Reason, denial: Denial | None) -> Fault:
    if denial is not None and _is_foreign_trust(facts, denial):
        return _trust_fault(facts, reason, denial)
    found = explanation(facts, denial, reason.raw)
    role = str(facts.iam.get("role_name") or "")
    action = denial.action if denial else f"an action the log does not name ({brief(reason)})"
    logged = facts.quote(reason, shows=f"AWS denied {denial.action if denial else 'an action'} to the function.")
    was = "was" if found.cause.endswith(CHANGED_SINCE) else "is"
    is_open = denial is None or (found.is_unexplained and _may_be_else(facts, reason, denial))
    return Fault(
        kind=FaultType.UNKNOWN if is_open else FaultType.PERMISSION_LOSS,
        cause=f"access to {action}{_on(denial)} {was} denied{_as(facts, denial)}: {found.cause}",
        resources=names(role or facts.function, *found.resources, _known_resource(facts, denial)),
        proof=(logged, *found.proof),
        remedy=_remedy(denial.action if denial else "what is denied", found),
        explains=frozenset({reason.label}),
        gaps=(found.gap,) if found.gap else (),
        is_doubtful=found.cause.endswith(CHANGED_SINCE),
        is_sure=not found.gap and denial is not None,
    )


def _may_be_else(facts: Facts, reason: Reason, denial: Denial) -> bool:
    """KMS's old text says in one breath that a key is not there, is elsewhere, or may not be used."""
    return reason.label == "passed-on-kms" or (_is_bare(reason, denial) and _has_unread_policy(facts))


def _is_bare(reason: Reason, denial: Denial) -> bool:
    """AWS said neither who nor what: somebody else's policy may deny it."""
    return denial.resource is None and "not authorized to perform" not in reason.raw.lower()


def _has_unread_policy(facts: Facts) -> bool:
    return any(str(part.get("what")).startswith("policy on ") for part in facts.iam.get("not_read") or ())


def _on(denial: Denial | None) -> str:
    return f" on {denial.resource}" if denial and denial.resource and denial.resource != "*" else ""


def _as(facts: Facts, denial: Denial | None) -> str:
    """Whom it was denied to, where that is not the function's own role."""
    who = denial.principal if denial else None
    role = str(facts.iam.get("role_name") or "")
    return f" to {who}, which is not the function's own role" if who and role and f"/{role}/" not in f"{who}/" else ""


def _is_foreign_trust(facts: Facts, denial: Denial) -> bool:
    """The role may assume the other one by its own policies: what is left is the other one's trust."""
    return denial.action == "sts:AssumeRole" and is_allowed_by_identity(facts, denial)


def _trust_fault(facts: Facts, reason: Reason, denial: Denial) -> Fault:
    role = str(facts.iam.get("role_name") or "the function's role")
    decisions = [
        facts.point(IAM, "simulated_decisions", place, "decision", shows="IAM's simulator on the role's own policies.")
        for place, one in enumerate(facts.iam.get("simulated_decisions", []))
        if one.get("action") == denial.action
    ]
    return Fault(
        kind=FaultType.CREDENTIALS,
        cause=(
            f"{denial.resource} does not let {role} assume it: the role's own policies allow sts:AssumeRole, so the "
            "trust policy of the other role is what refuses it"
        ),
        resources=names(role, _known_resource(facts, denial)),
        proof=proofs(facts.quote(reason, shows="AWS denied sts:AssumeRole."), *decisions[:1]),
        remedy=Remedy(
            action="Ask the owner of the refusing role why it refuses",
            details="The own policies need no change; the refusal is on the other side.",
            risk=RiskLevel.MEDIUM,
        ),
        explains=frozenset({reason.label}),
        is_sure=bool(decisions),
    )


def _remedy(action: str, found: Explanation) -> Remedy:
    said = sentence(found.cause.partition("; ")[0].partition(" (")[0])
    if found.cause.endswith(CHANGED_SINCE):
        details = f"{said} Run the function once and read its newest log lines before anything is changed."
        return Remedy(action=f"See whether {action} is still denied", details=details)
    details = f"{said} Put back the permission there, no wider than it was."
    return Remedy(action=f"Allow {action} again", details=details, risk=RiskLevel.MEDIUM)


def _known_resource(facts: Facts, denial: Denial | None) -> str | None:
    """The denied resource, if IAM's own answer names it too: a log line alone could name anything."""
    resource = denial.resource if denial else None
    return resource if resource and resource != "*" and resource in json.dumps(facts.iam) else None


def _without_action(facts: Facts) -> Iterator[Fault]:
    """Refusals that only the kernel words; the policies tell which action it is."""
    for reason in facts.history.current():
        if reason.label == "mount-read-only":
            yield _kernel_refusal(facts, reason, "elasticfilesystem:ClientWrite")


def _kernel_refusal(facts: Facts, reason: Reason, action: str) -> Fault:
    is_missing = bool(facts.iam) and judge(identity_documents(facts), action, None) is Says.SILENT
    why = "no policy of the role allows it" if is_missing else "the role's policies allow it on what they name"
    return Fault(
        kind=FaultType.PERMISSION_LOSS,
        cause=f"the role is refused {action} ({brief(reason)}): {why}",
        resources=names(facts.iam.get("role_name") or facts.function),
        proof=proofs(facts.quote(reason, shows="What was refused."), *near_grants(facts, action)),
        remedy=Remedy(
            action=f"Allow {action} on what the function uses",
            details="Compare the resource in the policy with the one in use.",
            risk=RiskLevel.MEDIUM,
        ),
        explains=frozenset({reason.label}),
        is_sure=is_missing,
    )


def _environment_key(facts: Facts) -> Iterator[Fault]:
    said = facts.config.get("EnvironmentError")
    reasons = [
        one for one in facts.history.current("denied") if ENVIRONMENT_KEY in one.raw or "KMSAccessDenied" in one.raw
    ]
    is_denied_state = "KMSKeyAccessDenied" in str(facts.config.get("StateReasonCode"))
    is_shown = bool(reasons) or is_denied_state or (bool(said) and "denied" in str(said).lower())
    if not is_shown and not _tells_of_key(facts):
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
    logged = facts.quote(reasons[0], shows="Lambda may not use the key.") if reasons else None
    shown = facts.point(CONFIG, "EnvironmentError", shows="Lambda could not decrypt the environment.") if said else None
    state = facts.point(CONFIG, "StateReasonCode", shows="Lambda's own word.") if is_denied_state else None
    yield Fault(
        kind=FaultType.PERMISSION_LOSS,
        cause=f"kms:Decrypt is denied: the role may not use the KMS key {key} of the environment variables",
        resources=names(key, facts.iam.get("role_name")),
        proof=proofs(logged, shown, state, policy, *(() if is_shown else _key_alone(facts))),
        remedy=Remedy(
            action="Let the role use the key again",
            details="Allow kms:Decrypt in the key's policy for the function's role.",
            risk=RiskLevel.MEDIUM,
        ),
        severity=IncidentSeverity.CRITICAL,
        explains=frozenset({*(reason.label for reason in reasons), "state-failed", "update-failed"}),
        gaps=() if is_shown else ("the denial stands in the alert alone: where no run starts, nothing is logged",),
        is_sure=is_shown,
    )


def _tells_of_key(facts: Facts) -> bool:
    """By the alert, Lambda may not use the key; no run since the function got it says otherwise."""
    told = f"{facts.raised.error_type} {facts.raised.message}" if facts.raised else ""
    is_told = ENVIRONMENT_KEY in told or "KMSAccessDenied" in told
    return is_told and bool(facts.config.get("KMSKeyArn")) and not facts.history.good_runs_at_the_end()


def _key_alone(facts: Facts) -> tuple[EvidencePointer, ...]:
    return proofs(
        facts.point(CONFIG, "KMSKeyArn", shows="The key of the environment variables."),
        facts.point(CONFIG, "Metrics", "invocations", shows="Runs that Lambda counts."),
        facts.point(IAM, "kms_keys", 0, "state", shows="The key itself can be used."),
    )
