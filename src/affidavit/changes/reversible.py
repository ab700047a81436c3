"""The reversible changes: each holds the old and the new state, and can make and undo itself. Both can be repeated.

They are Pydantic records because they are saved before they are made and read back after a crash.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from affidavit.ports.fault_target import FaultTarget
from affidavit.ports.json import Item

Raw = dict[str, JsonValue]


class _Change(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class InlinePolicyChange(_Change):
    """Takes statements, or parts of them, out of an inline policy. When none is left, the policy is deleted."""

    kind: Literal["inline_policy"] = "inline_policy"
    role: str
    policy: str
    before: Raw
    after: Raw | None

    def make(self, target: FaultTarget) -> None:
        if self.after is None:
            target.delete_inline_policy(self.role, self.policy)
        else:
            target.put_inline_policy(self.role, self.policy, self.after)

    def undo(self, target: FaultTarget) -> None:
        target.put_inline_policy(self.role, self.policy, self.before)

    def is_undone(self, target: FaultTarget) -> bool:
        return target.inline_policies(self.role).get(self.policy) == self.before

    @property
    def touches(self) -> tuple[str, str]:
        return "role", self.role

    def __str__(self) -> str:
        what = "removed" if self.after is None else "cut down"
        return f"inline policy {self.policy} of role {self.role} {what}"


class AttachmentChange(_Change):
    """Detaches a managed policy; the policy itself, which others may use, stays as it is."""

    kind: Literal["attachment"] = "attachment"
    role: str
    arn: str

    def make(self, target: FaultTarget) -> None:
        target.detach_policy(self.role, self.arn)

    def undo(self, target: FaultTarget) -> None:
        target.attach_policy(self.role, self.arn)

    def is_undone(self, target: FaultTarget) -> bool:
        return self.arn in target.attached_policies(self.role)

    @property
    def touches(self) -> tuple[str, str]:
        return "role", self.role

    def __str__(self) -> str:
        return f"policy {self.arn} detached from role {self.role}"


class ConcurrencyChange(_Change):
    kind: Literal["concurrency"] = "concurrency"
    function: str
    before: int | None
    after: int

    def make(self, target: FaultTarget) -> None:
        target.set_reserved_concurrency(self.function, self.after)

    def undo(self, target: FaultTarget) -> None:
        target.set_reserved_concurrency(self.function, self.before)

    def is_undone(self, target: FaultTarget) -> bool:
        return target.reserved_concurrency(self.function) == self.before

    @property
    def touches(self) -> tuple[str, str]:
        return "function", self.function

    def __str__(self) -> str:
        return f"reserved concurrency of {self.function} set to {self.after}"


class EgressChange(_Change):
    """Removes every egress rule of a security group; groups cannot deny, so a missing rule is the block."""

    kind: Literal["egress"] = "egress"
    group: str
    before: list[Raw]

    def make(self, target: FaultTarget) -> None:
        target.revoke_egress(self.group, self.before)

    def undo(self, target: FaultTarget) -> None:
        there = egress_of(target, self.group)
        missing = [rule for rule in self.before if rule not in there]
        if missing:
            target.allow_egress(self.group, missing)

    def is_undone(self, target: FaultTarget) -> bool:
        there = egress_of(target, self.group)
        return all(rule in there for rule in self.before)

    @property
    def touches(self) -> tuple[str, str]:
        return "security_group", self.group

    def __str__(self) -> str:
        return f"egress rules of security group {self.group} removed"


class AclEntryChange(_Change):
    """Puts a deny before every other egress entry of a network ACL, under a number that was free."""

    kind: Literal["acl_entry"] = "acl_entry"
    acl: str
    vpc: str
    number: int

    def make(self, target: FaultTarget) -> None:
        target.put_acl_entry(self.acl, self._entry)

    def undo(self, target: FaultTarget) -> None:
        if not self.is_undone(target):
            target.delete_acl_entry(self.acl, number=self.number, is_egress=True)

    def is_undone(self, target: FaultTarget) -> bool:
        return self.number not in egress_numbers(acl_named(target, self.vpc, self.acl))

    @property
    def touches(self) -> tuple[str, str]:
        return "network_acl", self.acl

    @property
    def _entry(self) -> Item:
        return {
            "RuleNumber": self.number,
            "Protocol": "-1",
            "RuleAction": "deny",
            "Egress": True,
            "CidrBlock": "0.0.0.0/0",
        }

    def __str__(self) -> str:
        return f"deny {self.number} put in front of network ACL {self.acl}"


Change: TypeAlias = Annotated[
    InlinePolicyChange | AttachmentChange | ConcurrencyChange | EgressChange | AclEntryChange,
    Field(discriminator="kind"),
]


class _Group(BaseModel):
    model_config = ConfigDict(extra="ignore")

    IpPermissionsEgress: list[Raw] = Field(default_factory=list[Raw])


class _Entry(BaseModel):
    model_config = ConfigDict(extra="ignore")

    RuleNumber: int
    Egress: bool


class _Association(BaseModel):
    model_config = ConfigDict(extra="ignore")

    SubnetId: str


class Acl(BaseModel):
    model_config = ConfigDict(extra="ignore")

    NetworkAclId: str
    IsDefault: bool = False
    Entries: list[_Entry] = Field(default_factory=list[_Entry])
    Associations: list[_Association] = Field(default_factory=list[_Association])


def egress_of(target: FaultTarget, group: str) -> list[Raw]:
    return [rule for raw in target.security_groups([group]) for rule in _Group.model_validate(raw).IpPermissionsEgress]


def acls_of(target: FaultTarget, vpc: str) -> list[Acl]:
    return [Acl.model_validate(raw) for raw in target.network_acls(vpc)]


def acl_named(target: FaultTarget, vpc: str, name: str) -> Acl:
    return next((acl for acl in acls_of(target, vpc) if acl.NetworkAclId == name), Acl(NetworkAclId=name))


def egress_numbers(acl: Acl) -> set[int]:
    return {entry.RuleNumber for entry in acl.Entries if entry.Egress}
