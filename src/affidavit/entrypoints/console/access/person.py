"""A person who is logged in, and what the person may do."""

from dataclasses import dataclass
from enum import StrEnum


class PersonRole(StrEnum):
    VIEWER = "viewer"
    """Reads everything, with secrets hidden."""
    OPERATOR = "operator"
    """Also runs incidents again, verifies, shares, hands in, and sees raw lines."""
    APPROVER = "approver"
    """Also approves plans."""


_GRANTS = {
    PersonRole.VIEWER: frozenset({PersonRole.VIEWER}),
    PersonRole.OPERATOR: frozenset({PersonRole.VIEWER, PersonRole.OPERATOR}),
    PersonRole.APPROVER: frozenset({PersonRole.VIEWER, PersonRole.APPROVER}),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Person:
    """`name` is what every action is logged with."""

    name: str
    roles: frozenset[PersonRole]

    def may(self, role: PersonRole) -> bool:
        return any(role in _GRANTS[own] for own in self.roles)


def roles_named(names: list[str]) -> frozenset[PersonRole]:
    """The roles among these names; what is no role of ours grants nothing."""
    known = {role.value: role for role in PersonRole}
    return frozenset(known[name] for name in names if name in known)
