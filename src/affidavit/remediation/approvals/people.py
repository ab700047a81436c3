"""People who may approve. Who they are is AWS's word or the identity provider's, never their own."""

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
    """Whether two identities are one person: also where AWS names the session as the issuer names the person."""
    return one == other or _name(one) == _name(other)


def _name(identity: str) -> str:
    return identity.rpartition("/")[2].casefold()


def _names(pattern: str, person: Approver) -> bool:
    """ARNs are AWS's to give and mail addresses the issuer's: neither can be forged by the other."""
    if pattern.startswith("arn:") and person.proof is not IdentityProof.AWS:
        return False
    if "@" in pattern and not pattern.startswith("arn:") and person.proof is not IdentityProof.CONSOLE:
        return False
    return fnmatchcase(person.identity, pattern)
