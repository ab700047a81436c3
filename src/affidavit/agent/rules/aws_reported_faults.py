"""Faults that Lambda and IAM state themselves: the function's state, its role, its key, its event sources."""

from collections.abc import Iterator, Mapping
from typing import cast

from affidavit.agent.rules.fault import Fault, Remedy, names, proofs
from affidavit.agent.rules.ledger_facts import CONFIG, IAM, Facts
from affidavit.agent.rules.permissions.policies import Document, statements, texts
from affidavit.evidence.diagnosis import EvidencePointer, FaultType, IncidentSeverity, RiskLevel

LAMBDA = "lambda.amazonaws.com"
# An idle function wakes at its next invocation; the other two pass by themselves.
_HARMLESS = frozenset({"Idle", "Creating", "Restoring", "None", ""})
# Alarms that say a function does not keep up with what it reads, or is not called.
_BEHIND = frozenset(
    {
        *("iteratorage", "offsetlag", "invocations", "approximateageofoldestmessage"),
        *("approximatenumberofmessagesvisible", "maxoffsetlag"),
    }
)
_KINDS = (
    ("KMSKeyAccessDenied", FaultType.PERMISSION_LOSS),
    ("InsufficientRolePermissions", FaultType.PERMISSION_LOSS),
    ("ImageAccessDenied", FaultType.PERMISSION_LOSS),
    ("KMS", FaultType.CONFIGURATION),
    ("Image", FaultType.STARTUP),
    ("FunctionError", FaultType.STARTUP),
    ("OutOfIPAddresses", FaultType.RESOURCE_LIMIT),
    ("LimitExceeded", FaultType.RESOURCE_LIMIT),
    ("InvalidZip", FaultType.STARTUP),
)
_STATE_REMEDY = Remedy(
    action="Correct what Lambda names, then update the function", details="The reason stands in the evidence."
)
_STATE_REMEDIES = {
    "ImageAccessDenied": Remedy(
        action="Let Lambda pull the image from its repository again",
        details="The repository's own policy decides this; the function's role is not asked.",
        risk=RiskLevel.MEDIUM,
    )
}


def state_faults(facts: Facts) -> Iterator[Fault]:
    for field, reason, label in (
        ("State", "StateReason", "state-failed"),
        ("LastUpdateStatus", "LastUpdateStatusReason", "update-failed"),
    ):
        code = str(facts.config.get(f"{reason}Code") or "")
        is_stopped = field == "State" and facts.config.get(field) == "Inactive" and code not in _HARMLESS
        if facts.config.get(field) != "Failed" and not is_stopped:
            continue
        said = facts.config.get(reason)
        yield Fault(
            kind=next((kind for mark, kind in _KINDS if mark in code), FaultType.CONFIGURATION),
            cause=f"Lambda reports {field} {facts.config[field]} for {facts.function}: {code or 'without a code'}"
            + (f" ({str(said)[:200]})" if said else ""),
            resources=names(facts.function),
            proof=proofs(
                facts.point(CONFIG, field, shows="Lambda's own word."),
                facts.point(CONFIG, reason, shows="The reason Lambda gives.") if said else None,
                facts.point(CONFIG, f"{reason}Code", shows="Its code.") if code else None,
                facts.point(CONFIG, "Runtime", shows="The runtime.") if facts.config.get("Runtime") else None,
            ),
            remedy=_STATE_REMEDIES.get(code, _STATE_REMEDY),
            severity=IncidentSeverity.CRITICAL if field == "State" else IncidentSeverity.HIGH,
            explains=frozenset({label}),
            # The repository refuses Lambda: by its policy, or because the image is gone from it.
            is_sure="ImageAccessDenied" not in code,
        )


def source_faults(facts: Facts) -> Iterator[Fault]:
    """What the function reads falls behind, or it is not called at all, and Lambda was told not to read it."""
    is_behind = facts.raised is not None and facts.raised.metric.lower() in _BEHIND
    for place, source in enumerate(facts.config.get("EventSources") or ()):
        if not is_behind or source.get("State") not in ("Disabled", "Disabling"):
            continue
        name = str(source.get("EventSourceArn") or source.get("UUID") or "its event source")
        at = ("EventSources", place)
        yield Fault(
            kind=FaultType.CONFIGURATION,
            cause=f"the event source {name} of {facts.function} is disabled, so nothing of it reaches the function",
            resources=names(facts.function, name),
            proof=proofs(
                facts.point(CONFIG, *at, "State", shows="The state of the event source mapping."),
                facts.point(CONFIG, *at, "StateTransitionReason", shows="How it came into this state."),
            ),
            remedy=Remedy(
                action="Enable the event source mapping again, once its cause is known",
                details="Records older than the stream or queue keeps them are lost meanwhile.",
                risk=RiskLevel.MEDIUM,
            ),
        )


def key_faults(facts: Facts) -> Iterator[Fault]:
    reasons = [one for one in facts.history.current("lookalikes") if one.label == "kms-key-off"]
    broken = [
        place for place, one in enumerate(facts.iam.get("kms_keys", [])) if one.get("state") not in (None, "Enabled")
    ]
    if not broken:
        return
    key = str(facts.iam["kms_keys"][broken[0]]["key_arn"])
    states = [facts.point(IAM, "kms_keys", place, "state", shows="The state of the key.") for place in broken]
    quotes = [facts.quote(reason, shows="The key cannot be used.") for reason in reasons]
    stated = facts.point(CONFIG, "StateReasonCode", shows="Lambda's own word.")
    state = str(facts.iam["kms_keys"][broken[0]].get("state"))
    yield Fault(
        kind=FaultType.CONFIGURATION,
        cause=f"the KMS key {key} that the function needs cannot be used: its state is {state}",
        resources=names(key),
        proof=proofs(*quotes, *states, stated if facts.config.get("StateReasonCode") else None),
        remedy=Remedy(
            action="Enable the key again, or encrypt with another",
            details="Without the key nothing that is encrypted with it can be read.",
        ),
        severity=IncidentSeverity.CRITICAL,
        explains=frozenset({"kms-key-off", "state-failed", "update-failed", "exited"}),
    )


def role_faults(facts: Facts) -> Iterator[Fault]:
    role = str(facts.iam.get("role_name") or "")
    if facts.iam and facts.iam.get("role_exists") is False:
        shown = facts.point(IAM, "role_exists", shows="IAM does not know the role that the function names.")
        yield _role_fault(
            FaultType.PERMISSION_LOSS,
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
            FaultType.CREDENTIALS,
            role,
            f"Lambda may not assume the execution role {role}: its trust policy does not name {LAMBDA}",
            proofs(shown, update),
            f"Let {LAMBDA} assume the role again",
        )


def _role_fault(kind: FaultType, role: str, cause: str, proof: tuple[EvidencePointer, ...], action: str) -> Fault:
    return Fault(
        kind=kind,
        cause=cause,
        resources=names(role),
        proof=proof,
        remedy=Remedy(
            action=action, details=f"{cause[0].upper()}{cause[1:]}, so every run fails.", risk=RiskLevel.MEDIUM
        ),
        severity=IncidentSeverity.CRITICAL,
        explains=frozenset({"update-failed", "state-failed", "exited", "own-role"}),
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
