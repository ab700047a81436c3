"""People who may approve. Who they are is AWS's word or the identity provider's, never their own."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

from affidavit.errors import InputRefused


class IdentityProof(StrEnum):
    """How somebody proved who they are. A key that serves agents proves no person, so it is not listed."""

    AWS = "aws"
    """STS named the owner of the credentials that signed the request."""
    CONSOLE = "console"
    """The console's identity provider signed who is logged in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Approver:
    """`identity` is an ARN, or the subject that an identity provider gave. Doors make it after they checked."""

    identity: str
    proof: IdentityProof


def check_may_approve(person: Approver, allowed: frozenset[str], *, executor_role: str = "") -> None:
    """Raises InputRefused unless the list names the person; `*` stands for any part of a name."""
    if not person.identity or not any(_names(pattern, person) for pattern in allowed):
        raise InputRefused(
            f"{person.identity or 'nobody'} may not approve repairs", hint="REMEDIATION_PEOPLE names who may"
        )
    role = executor_role.rpartition("/")[2]
    if role and f":assumed-role/{role}/" in person.identity:
        raise InputRefused("the executor's own role approves nothing", hint="approve as a person")


def is_same_person(one: str, other: str) -> bool:
    """Whether two identities are taken for one person. In doubt they are: then somebody else has to approve.

    AWS may name a session as the issuer names the person, and an IAM user as their mail address begins.
    """
    first, second = _name(one), _name(other)
    if ("@" in first) != ("@" in second):
        return first.partition("@")[0] == second.partition("@")[0]
    return first == second


def others_than(proposer: str, identities: Iterable[str]) -> list[str]:
    """The different people among these, without who proposed."""
    found: list[str] = []
    for one in identities:
        if not any(is_same_person(one, other) for other in (proposer, *found)):
            found.append(one)
    return found


def _name(identity: str) -> str:
    """Who it is, without the account and role; letters that only look different are the same."""
    return unicodedata.normalize("NFKC", identity).rpartition("/")[2].strip().casefold()


def _names(pattern: str, person: Approver) -> bool:
    """ARNs are AWS's to give and mail addresses the issuer's: neither can be forged by the other."""
    if pattern.startswith("arn:") and person.proof is not IdentityProof.AWS:
        return False
    if "@" in pattern and not pattern.startswith("arn:") and person.proof is not IdentityProof.CONSOLE:
        return False
    return fnmatchcase(person.identity, pattern)
