"""Plans the changes that cause a fault, from the current state. Planning only reads."""

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from affidavit.changes.reversible import (
    AclEntryChange,
    AttachmentChange,
    Change,
    ConcurrencyChange,
    EgressChange,
    InlinePolicyChange,
    acls_of,
    egress_numbers,
    egress_of,
)
from affidavit.chaos.injectable_faults import NetworkMethod, RevokeTarget
from affidavit.errors import InputRefused
from affidavit.ports.fault_target import FaultTarget
from affidavit.ports.json import Item

Statement = dict[str, JsonValue]


class _Vpc(BaseModel):
    model_config = ConfigDict(extra="ignore")

    VpcId: str = ""
    SubnetIds: list[str] = Field(default_factory=list[str])
    SecurityGroupIds: list[str] = Field(default_factory=list[str])


class _Function(BaseModel):
    model_config = ConfigDict(extra="ignore")

    FunctionName: str
    Role: str
    VpcConfig: _Vpc = _Vpc()

    @property
    def role_name(self) -> str:
        return self.Role.rsplit("/", 1)[-1]


class _Granting(BaseModel):
    model_config = ConfigDict(extra="ignore")

    Effect: str
    Action: str | list[str] = Field(default_factory=list[str])
    NotAction: str | list[str] | None = None

    def grants(self, services: tuple[str, ...]) -> bool:
        if self.Effect != "Allow":
            return False
        if self.NotAction is not None:
            return bool(self.unlisted(services))
        return any(_service(action) in (*services, "*") for action in _listed(self.Action))

    def unlisted(self, services: tuple[str, ...]) -> list[str]:
        """For a `NotAction` statement, which grants all but a list: the services it still grants something of."""
        listed = {action.lower() for action in _listed(self.NotAction or [])}
        return [service for service in services if not listed & {"*", f"{service}:*"}]


class _Policy(BaseModel):
    model_config = ConfigDict(extra="allow")

    Statement: list[Statement] | Statement

    @property
    def statements(self) -> list[dict[str, JsonValue]]:
        return self.Statement if isinstance(self.Statement, list) else [self.Statement]


def plan_revoke(target: FaultTarget, function: str, what: RevokeTarget) -> list[Change]:
    """Removes every statement of the role that grants an action of the services. A `NotAction` statement stays, without
    the services."""
    role = _function(target, function).role_name
    inline = [
        change
        for name, document in target.inline_policies(role).items()
        if (change := _cut(role, name, document, what.services)) is not None
    ]
    attached = [
        AttachmentChange(role=role, arn=arn)
        for arn in target.attached_policies(role)
        if _is_granting(target.policy_document(arn), what.services)
    ]
    return _some([*inline, *attached], f"role {role} grants nothing on {' or '.join(what.services)}")


def plan_throttle(target: FaultTarget, function: str, to: int) -> list[Change]:
    if to not in (0, 1):
        raise InputRefused(f"concurrency {to} is no throttle", hint="choose 0 (never runs) or 1 (one at a time)")
    before = target.reserved_concurrency(function)
    change = ConcurrencyChange(function=function, before=before, after=to)
    return _some([] if before == to else [change], f"{function} already has reserved concurrency {to}")


def plan_network(target: FaultTarget, function: str, method: NetworkMethod) -> list[Change]:
    vpc = _function(target, function).VpcConfig
    if not vpc.SubnetIds:
        raise InputRefused(f"{function} is in no VPC", hint="its network cannot be blocked; choose another fault")
    match method:
        case NetworkMethod.EGRESS:
            return _some(_egress(target, vpc), f"the security groups of {function} already let nothing out")
        case NetworkMethod.NACL:
            return _nacl(target, vpc)


def _function(target: FaultTarget, name: str) -> _Function:
    return _Function.model_validate(target.function(name))


def _cut(role: str, name: str, document: Item, services: tuple[str, ...]) -> InlinePolicyChange | None:
    policy = _Policy.model_validate(document)
    cut = [_without(statement, services) for statement in policy.statements]
    kept = [statement for statement in cut if statement is not None]
    if kept == policy.statements:
        return None
    after = {**document, "Statement": kept} if kept else None
    return InlinePolicyChange.model_validate({"role": role, "policy": name, "before": document, "after": after})


def _without(statement: Statement, services: tuple[str, ...]) -> Statement | None:
    granting = _Granting.model_validate(statement)
    if not granting.grants(services):
        return statement
    if granting.NotAction is None:
        return None
    more = [f"{service}:*" for service in granting.unlisted(services)]
    return {**statement, "NotAction": [*_listed(granting.NotAction), *more]}


def _is_granting(document: Item, services: tuple[str, ...]) -> bool:
    statements = _Policy.model_validate(document).statements
    return any(_Granting.model_validate(statement).grants(services) for statement in statements)


def _egress(target: FaultTarget, vpc: _Vpc) -> list[Change]:
    rules = {group: egress_of(target, group) for group in vpc.SecurityGroupIds}
    return [EgressChange(group=group, before=before) for group, before in rules.items() if before]


def _nacl(target: FaultTarget, vpc: _Vpc) -> list[Change]:
    acls = acls_of(target, vpc.VpcId)
    own = [acl for acl in acls if any(entry.SubnetId in vpc.SubnetIds for entry in acl.Associations)]
    changes: list[Change] = []
    for acl in own or [acl for acl in acls if acl.IsDefault]:
        # The lowest number decides, so the deny must come before all others; numbers start at 1.
        number = min(egress_numbers(acl), default=32766) - 1
        if number < 1:
            raise InputRefused(
                f"network ACL {acl.NetworkAclId} has no free number in front", hint="use --method egress"
            )
        changes.append(AclEntryChange(acl=acl.NetworkAclId, vpc=vpc.VpcId, number=number))
    return _some(changes, f"{vpc.VpcId} shows no network ACL")


def _listed(patterns: str | list[str]) -> list[str]:
    return [patterns] if isinstance(patterns, str) else patterns


def _service(action: str) -> str:
    return action.partition(":")[0].lower()


def _some(changes: list[Change], trouble: str) -> list[Change]:
    if not changes:
        raise InputRefused(trouble, hint="there is nothing to break; see `affidavit chaos status`")
    return changes
