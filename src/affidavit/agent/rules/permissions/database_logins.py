"""Explains IAM logins that a database refused: the role may not connect, or the token was not accepted.

PostgreSQL words every such refusal alike (`PAM authentication failed`). IAM's decision on rds-db:connect tells the two
apart. The refusal names no database, so a policy that names another one looks like one that allows it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from affidavit.agent.rules.errors.error_on_one_line import brief
from affidavit.agent.rules.failure_reasons import Reason
from affidavit.agent.rules.fault import Fault, Remedy, names, proofs
from affidavit.agent.rules.ledger_facts import IAM, Facts
from affidavit.agent.rules.permissions.policies import Says, identity_documents, judge, near_grants
from affidavit.evidence.diagnosis import EvidencePointer, FaultType, RiskLevel
from affidavit.workloads.denials import DATABASE_LOGIN

LOGIN = "rds-iam-login"
_ALLOW = Remedy(
    action=f"Allow {DATABASE_LOGIN} for the database and its user",
    details="Compare the resource id in the policy with the one of the database in use.",
    risk=RiskLevel.MEDIUM,
)
_RENEW = Remedy(
    action="Make the login token anew for each connection, for this host, port, user and Region",
    details="A token is good for 15 minutes, and the database user has to be one that logs in by IAM.",
)


def database_logins(facts: Facts) -> Iterator[Fault]:
    for reason in facts.history.current():
        if reason.label == LOGIN:
            yield _fault(facts, reason)


def _fault(facts: Facts, reason: Reason) -> Fault:
    is_allowed, decided = _decided(facts)
    shown = proofs(facts.quote(reason, shows="What was refused."), *decided, *near_grants(facts, DATABASE_LOGIN))
    who = names(facts.iam.get("role_name") or facts.function)
    if is_allowed is False:
        return Fault(
            kind=FaultType.PERMISSION_LOSS,
            cause=f"the role is refused {DATABASE_LOGIN} ({brief(reason)}): no policy of the role allows it there",
            resources=who,
            proof=shown,
            remedy=_ALLOW,
            explains=frozenset({reason.label}),
        )
    why = "though IAM allows it: token or user is refused" if is_allowed else "and what IAM says of it was not read"
    return Fault(
        kind=FaultType.CREDENTIALS if is_allowed else FaultType.UNKNOWN,
        cause=f"the database does not accept the login by IAM ({brief(reason)}), {why}",
        resources=who,
        proof=shown,
        remedy=_RENEW,
        explains=frozenset({reason.label}),
        gaps=("whether the role's policies name this very database was not seen",),
        is_sure=False,
    )


def _decided(facts: Facts) -> tuple[bool | None, tuple[EvidencePointer, ...]]:
    """IAM's simulator first, then the role's policies as they are written; None where neither was read."""
    decisions: list[tuple[int, Mapping[str, Any]]] = [
        (place, one)
        for place, one in enumerate(facts.iam.get("simulated_decisions", []))
        if one.get("action") == DATABASE_LOGIN
    ]
    if decisions:
        place, _ = decisions[0]
        shown = facts.point(IAM, "simulated_decisions", place, "decision", shows="IAM's simulator on the login.")
        return any(one.get("decision") == "allowed" for _, one in decisions), proofs(shown)
    if not facts.iam:
        return None, ()
    return judge(identity_documents(facts), DATABASE_LOGIN, None) is not Says.SILENT, ()
