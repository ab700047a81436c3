"""What a fault would change, worked out of an account that exists only as data; and where chaos is refused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from affidavit.changes.reversible import (
    AclEntryChange,
    AttachmentChange,
    ConcurrencyChange,
    EgressChange,
    InlinePolicyChange,
)
from affidavit.chaos.allowed_targets import check_allowed
from affidavit.chaos.fault_planning import plan_network, plan_revoke, plan_throttle
from affidavit.chaos.injectable_faults import NetworkMethod, RevokeTarget
from affidavit.errors import InputRefused


def allow(*actions: str, sid: str = "") -> dict[str, Any]:
    return {"Sid": sid, "Effect": "Allow", "Action": list(actions), "Resource": "*"}


def policy(*statements: dict[str, Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(statements)}


@dataclass
class Account:
    """The reads of a FaultTarget that planning needs."""

    inline: Mapping[str, Any] = field(default_factory=dict[str, Any])
    attached: Mapping[str, Any] = field(default_factory=dict[str, Any])
    concurrency: int | None = None
    vpc: Mapping[str, Any] | None = None
    egress: Mapping[str, Any] = field(default_factory=dict[str, Any])
    acls: Sequence[Any] = ()
    tagged: Mapping[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])

    def function(self, name: str) -> Any:
        place = {"VpcConfig": self.vpc} if self.vpc else {}
        return {"FunctionName": name, "Role": "arn:aws:iam::1:role/service/r", **place}

    def inline_policies(self, role: str) -> Any:
        assert role == "r"
        return self.inline

    def attached_policies(self, role: str) -> Any:
        return list(self.attached)

    def policy_document(self, arn: str) -> Any:
        return self.attached[arn]

    def reserved_concurrency(self, name: str) -> int | None:
        return self.concurrency

    def security_groups(self, ids: Sequence[str]) -> Any:
        return [{"GroupId": name, "IpPermissionsEgress": self.egress[name]} for name in ids]

    def network_acls(self, vpc_id: str) -> Any:
        return self.acls

    def account(self) -> str:
        return "111122223333"

    def tags(self, kind: str, name: str) -> Mapping[str, str]:
        value = self.tagged.get((kind, name))
        return {"affidavit:chaos": value} if value else {}


VPC = {"VpcId": "vpc-1", "SubnetIds": ["subnet-1"], "SecurityGroupIds": ["sg-1", "sg-2"]}
OPEN = {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}


def test_a_policy_of_the_service_alone_is_removed_whole() -> None:
    read = policy(allow("s3:GetObject"))
    account: Any = Account(inline={"read": read, "metrics": policy(allow("cloudwatch:PutMetricData"))})
    assert plan_revoke(account, "f", RevokeTarget.S3) == [
        InlinePolicyChange(role="r", policy="read", before=read, after=None)
    ]


@pytest.mark.parametrize("action", ["s3:*", "S3:GetObject", "*"])
def test_every_spelling_of_a_grant_is_found(action: str) -> None:
    account: Any = Account(inline={"p": policy(allow(action))})
    assert len(plan_revoke(account, "f", RevokeTarget.S3)) == 1


def test_a_service_whose_name_only_begins_alike_is_left_alone() -> None:
    account: Any = Account(inline={"p": policy(allow("s3express:CreateSession", "s3-outposts:GetObject"))})
    with pytest.raises(InputRefused, match="grants nothing on s3"):
        plan_revoke(account, "f", RevokeTarget.S3)


def test_denies_and_other_statements_of_a_shared_policy_stay() -> None:
    deny = {"Effect": "Deny", "Action": "s3:DeleteObject", "Resource": "*"}
    account: Any = Account(inline={"p": policy(allow("s3:GetObject"), allow("sqs:SendMessage"), deny)})
    (change,) = plan_revoke(account, "f", RevokeTarget.S3)
    assert isinstance(change, InlinePolicyChange)
    assert change.after == policy(allow("sqs:SendMessage"), deny)


def all_but(*actions: str) -> dict[str, Any]:
    return {"Effect": "Allow", "NotAction": list(actions), "Resource": "*"}


@pytest.mark.parametrize("spared", [(), ("iam:*",), ("s3:Delete*", "iam:*")])
def test_a_grant_of_all_but_a_list_loses_the_service_and_nothing_else(spared: tuple[str, ...]) -> None:
    before = policy(all_but(*spared))
    account: Any = Account(inline={"p": before})
    assert plan_revoke(account, "f", RevokeTarget.S3) == [
        InlinePolicyChange(role="r", policy="p", before=before, after=policy(all_but(*spared, "s3:*")))
    ]


def test_a_list_that_is_one_text_is_a_list_too_and_what_is_on_it_is_not_added_again() -> None:
    one = {"Effect": "Allow", "NotAction": "S3:*", "Resource": "*"}
    account: Any = Account(inline={"p": policy(one)})
    (change,) = plan_revoke(account, "f", RevokeTarget.BOTH)
    assert isinstance(change, InlinePolicyChange)
    assert change.after == policy({**one, "NotAction": ["S3:*", "cloudwatch:*"]})


@pytest.mark.parametrize(
    "statement", [all_but("s3:*"), all_but("*"), {"Effect": "Deny", "NotAction": ["sqs:*"], "Resource": "*"}]
)
def test_all_but_a_list_that_has_the_service_and_a_deny_grant_nothing(statement: dict[str, Any]) -> None:
    account: Any = Account(inline={"p": policy(statement)})
    with pytest.raises(InputRefused, match="grants nothing on s3"):
        plan_revoke(account, "f", RevokeTarget.S3)


def test_an_attached_policy_that_grants_all_but_a_list_is_detached() -> None:
    account: Any = Account(attached={"arn:power": policy(all_but("iam:*"))})
    assert plan_revoke(account, "f", RevokeTarget.S3) == [AttachmentChange(role="r", arn="arn:power")]


def test_both_takes_inline_and_attached_grants_of_both_services() -> None:
    single = {"Version": "2012-10-17", "Statement": allow("cloudwatch:PutMetricData")}
    account: Any = Account(inline={"p": policy(allow("s3:GetObject"))}, attached={"arn:m": single})
    assert [type(change) for change in plan_revoke(account, "f", RevokeTarget.BOTH)] == [
        InlinePolicyChange,
        AttachmentChange,
    ]


def test_a_throttle_remembers_what_was_reserved() -> None:
    account: Any = Account(concurrency=5)
    assert plan_throttle(account, "f", 0) == [ConcurrencyChange(function="f", before=5, after=0)]


@pytest.mark.parametrize("to", [-1, 2, 100])
def test_other_concurrencies_are_no_throttle(to: int) -> None:
    account: Any = Account()
    with pytest.raises(InputRefused, match="no throttle"):
        plan_throttle(account, "f", to)


def test_a_throttle_that_is_already_there_is_refused_because_restoring_would_restore_it() -> None:
    account: Any = Account(concurrency=0)
    with pytest.raises(InputRefused, match="already has"):
        plan_throttle(account, "f", 0)


def test_every_group_with_rules_is_emptied() -> None:
    account: Any = Account(vpc=VPC, egress={"sg-1": [OPEN], "sg-2": []})
    assert plan_network(account, "f", NetworkMethod.EGRESS) == [EgressChange(group="sg-1", before=[OPEN])]


def test_the_deny_stands_in_front_of_every_other_entry() -> None:
    entries = [{"RuleNumber": number, "Egress": True} for number in (40, 100)] + [{"RuleNumber": 5, "Egress": False}]
    acl = {"NetworkAclId": "acl-1", "Associations": [{"SubnetId": "subnet-1"}], "Entries": entries}
    account: Any = Account(vpc=VPC, acls=[acl, {"NetworkAclId": "acl-2", "IsDefault": True}])
    assert plan_network(account, "f", NetworkMethod.NACL) == [AclEntryChange(acl="acl-1", vpc="vpc-1", number=39)]


def test_without_a_number_in_front_the_deny_is_refused() -> None:
    acl = {
        "NetworkAclId": "acl-1",
        "Associations": [{"SubnetId": "subnet-1"}],
        "Entries": [{"RuleNumber": 1, "Egress": True}],
    }
    account: Any = Account(vpc=VPC, acls=[acl])
    with pytest.raises(InputRefused, match="no free number"):
        plan_network(account, "f", NetworkMethod.NACL)


def test_a_function_outside_a_vpc_cannot_be_cut_off() -> None:
    account: Any = Account()
    with pytest.raises(InputRefused, match="in no VPC"):
        plan_network(account, "f", NetworkMethod.EGRESS)


CHANGE = ConcurrencyChange(function="f", before=None, after=0)
GROUP = EgressChange(group="sg-1", before=[])


@pytest.mark.parametrize(
    ("accounts", "tagged", "refusal"),
    [
        (set[str](), {("function", "f"): "allowed", ("security_group", "sg-1"): "allowed"}, "not on chaos's list"),
        ({"999999999999"}, {("function", "f"): "allowed", ("security_group", "sg-1"): "allowed"}, "not on chaos"),
        ({"111122223333"}, {("security_group", "sg-1"): "allowed"}, "function f does not carry"),
        ({"111122223333"}, {("function", "f"): "allowed"}, "security group sg-1 does not carry"),
        ({"111122223333"}, {("function", "f"): "no", ("security_group", "sg-1"): "allowed"}, "function f"),
    ],
)
def test_chaos_is_refused_unless_account_and_every_thing_touched_allow_it(
    accounts: set[str], tagged: dict[tuple[str, str], str], refusal: str
) -> None:
    account: Any = Account(tagged=tagged)
    with pytest.raises(InputRefused, match=refusal):
        check_allowed(account, "f", [CHANGE, GROUP], accounts=frozenset(accounts))


def test_chaos_is_allowed_when_all_of_them_do() -> None:
    account: Any = Account(tagged={("function", "f"): "allowed", ("security_group", "sg-1"): "allowed"})
    check_allowed(account, "f", [CHANGE, GROUP], accounts=frozenset({"111122223333"}))
