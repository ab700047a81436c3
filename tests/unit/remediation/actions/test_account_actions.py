"""Repairs of roles, networks and keys on the sandbox: what sources give, exact undo, credentials for nothing else."""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.support.repairing.remediation import a_document
from tests.support.repairing.repaired_account import (
    DENY,
    FAULTS,
    READ,
    Made,
    close_group,
    disable,
    lose_policy,
    make_account,
)
from tests.support.repairing.repaired_function import executor_role
from tests.support.storms import only_full

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.remediation.least_privilege_calls import AssumedRoleDoor
from affidavit.errors import NotFound, UpstreamFailed
from affidavit.ports.argument_sources import SourceDocument, SourceKind
from affidavit.ports.aws_reads_and_changes import Grant
from affidavit.ports.json import Item
from affidavit.remediation.actions.action_type import Aim
from affidavit.remediation.actions.catalog import action_type
from affidavit.remediation.plan.seal import canonical_bytes
from affidavit.sandbox.sandbox import Sandbox


@pytest.fixture(scope="module")
def made(sandbox: Sandbox) -> Made:
    return make_account(sandbox)


@pytest.fixture(autouse=True)
def _here(aws_environment: dict[str, str]) -> None:
    """Everybody talks to the sandbox."""


@pytest.mark.parametrize(("name", "fault"), FAULTS, ids=[fault.__name__ for _, fault in FAULTS])
def test_what_was_broken_comes_back_as_the_known_good_state_has_it(
    made: Made, name: str, fault: Callable[[Made], None]
) -> None:
    good, kind = made.baseline(), action_type(name)
    assert made.aims(name, good) == [], "what is as the source says needs no repair"
    fault(made)
    (aim,) = made.aims(name, good)
    kind.arguments.model_validate(aim.arguments)
    live = kind.read(aim, made.reader)
    assert kind.problems(aim, live, made.reader) == []
    assert aim.target in kind.touches(aim, made.reader)
    made.make(name, aim)
    assert kind.read(aim, made.reader).state == kind.expected(aim, live.state)
    assert made.aims(name, good) == []
    assert made.baseline().source.sha256 == good.source.sha256


def test_a_source_about_another_role_or_group_says_nothing(made: Made) -> None:
    put = {"roleName": "somebody-else", "policyName": "read", "policyDocument": json.dumps(READ)}
    events = [
        {"eventName": "PutRolePolicy", "requestParameters": put},
        {"eventName": "DetachRolePolicy", "requestParameters": {**put, "policyArn": made.policy}},
        {"eventName": "RevokeSecurityGroupEgress", "requestParameters": {"groupId": "sg-1", "ipPermissions": {}}},
        {"eventName": "DisableKey", "requestParameters": {"keyId": "another"}},
    ]
    names = {name for name, _ in FAULTS}
    for event in events:
        said = a_document(SourceKind.TRAIL_EVENT, event)
        assert [aim for name in names for aim in made.aims(name, said)] == []


def test_events_of_cloudtrail_give_the_policy_the_rule_and_the_key(made: Made) -> None:
    good = made.baseline()
    for fault in (lose_policy, close_group, disable):
        fault(made)
    ranges = {"items": [{"cidrIp": "0.0.0.0/0"}]}
    permissions = {"items": [{"ipProtocol": "-1", "groups": {}, "ipRanges": ranges, "prefixListIds": {}}]}
    events = {
        "iam.inline_policy.restore": (
            "PutRolePolicy",
            {"roleName": made.name, "policyName": "read", "policyDocument": json.dumps(READ)},
        ),
        "ec2.egress.restore": ("RevokeSecurityGroupEgress", {"groupId": made.group, "ipPermissions": permissions}),
        "kms.key.enable": ("DisableKey", {"keyId": made.key.rsplit("/", 1)[-1]}),
    }
    for name, (call, request) in events.items():
        said = a_document(SourceKind.TRAIL_EVENT, {"eventName": call, "requestParameters": request})
        (aim,) = made.aims(name, said)
        made.make(name, aim)
    assert made.baseline().source.sha256 == good.source.sha256


def test_a_former_version_of_an_attached_policy_can_be_set_and_one_of_another_policy_cannot(made: Made) -> None:
    said = {"policy_arn": made.policy, "version_id": "v2", "document": READ}
    (aim,) = made.aims("iam.policy_version.set_default", a_document(SourceKind.POLICY_VERSION, said))
    assert aim.arguments == {"version_id": "v2"} and made.role in action_type("iam.policy_version.set_default").touches(
        aim, made.reader
    )
    elsewhere = {**said, "policy_arn": "arn:aws:iam::000000000000:policy/elsewhere"}
    assert made.aims("iam.policy_version.set_default", a_document(SourceKind.POLICY_VERSION, elsewhere)) == []
    changed = {**said, "document": {**READ, "Version": "2008-10-17"}}
    assert made.aims("iam.policy_version.set_default", a_document(SourceKind.POLICY_VERSION, changed)) == []


def test_what_no_repair_may_do_is_a_problem(made: Made) -> None:
    passing = {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "iam:PassRole", "Resource": "*"}}
    inline, acl = action_type("iam.inline_policy.restore"), action_type("ec2.acl_entry.restore")
    aim = Aim(target=made.role, arguments={"policy": "pass", "document": passing})
    assert inline.problems(aim, inline.read(aim, made.reader), made.reader)
    entry = {"Protocol": "-1", "RuleAction": "allow", "CidrBlock": "0.0.0.0/0"}
    opened = {"number": 7, "egress": False, "entry": entry, "replaces": False}
    aim = Aim(target=made.arn("network-acl", made.acl), arguments=opened)
    assert acl.problems(aim, acl.read(aim, made.reader), made.reader) == ["it would let everybody in"]
    gone = Aim(target=made.role, arguments={"policy_arn": f"{made.policy}-gone", "is_attached": True})
    attachment = action_type("iam.attachment.restore")
    assert "no policy" in attachment.problems(gone, attachment.read(gone, made.reader), made.reader)[0]


def test_a_key_that_waits_for_its_deletion_is_left_to_a_person(made: Made) -> None:
    kms, kind = made.client("kms"), action_type("kms.key.enable")
    key = kms.create_key()["KeyMetadata"]["Arn"]
    kms.schedule_key_deletion(KeyId=key, PendingWindowInDays=7)
    aim = Aim(target=key, arguments={"is_enabled": True})
    assert "PendingDeletion" in kind.problems(aim, kind.read(aim, made.reader), made.reader)[0]


def test_a_role_that_is_gone_is_not_a_role_without_the_policy(made: Made) -> None:
    kind = action_type("iam.inline_policy.restore")
    with pytest.raises(NotFound):
        kind.read(Aim(target=f"{made.role}-gone", arguments={"policy": "read", "document": READ}), made.reader)


# --- exact undo ------------------------------------------------------------------------------------------------------


def documents(chance: random.Random) -> Any:
    if chance.random() < 0.25:
        return None
    statements = [
        {
            "Effect": chance.choice(["Allow", "Deny"]),
            "Action": chance.choice(["s3:GetObject", ["s3:GetObject", "s3:PutObject"], "é:*"]),
            "Resource": chance.choice(["*", ["arn:aws:s3:::a/*", "arn:aws:s3:::b"]]),
            **chance.choice([{}, {"Sid": "One"}, {"Condition": {"Bool": {"aws:SecureTransport": "true"}}}]),
        }
        for _ in range(chance.randrange(1, 4))
    ]
    return {"Version": "2012-10-17", "Statement": statements}


def rules(chance: random.Random) -> Item:
    ranges = chance.choice(
        [{"IpRanges": [{"CidrIp": f"10.{chance.randrange(256)}.0.0/16"}]}, {"Ipv6Ranges": [{"CidrIpv6": "fd00::/8"}]}]
    )
    first = chance.randrange(1, 60000)
    return {"IpProtocol": chance.choice(["tcp", "udp"]), "FromPort": first, "ToPort": first + 7, **ranges}


def acl_entries(chance: random.Random) -> Any:
    if chance.random() < 0.3:
        return None
    # The emulator keeps no port ranges of ACLs.
    return {
        "RuleAction": chance.choice(["allow", "deny"]),
        "CidrBlock": f"10.{chance.randrange(256)}.0.0/16",
        "Protocol": chance.choice(["-1", "6", "17"]),
    }


def pairs(made: Made, name: str, chance: random.Random) -> tuple[Aim, Item]:
    """An aim, and the arguments that first bring about a state to come back to."""
    there, wanted = chance.random() < 0.5, chance.random() < 0.5
    match name:
        case "iam.inline_policy.restore":
            policy = f"p{chance.randrange(4)}"
            before, after = ({"policy": policy, "document": documents(chance)} for _ in range(2))
            return Aim(target=made.role, arguments=after), before
        case "iam.attachment.restore":
            before, after = ({"policy_arn": made.policy, "is_attached": one} for one in (there, wanted))
            return Aim(target=made.role, arguments=after), before
        case "iam.policy_version.set_default":
            before, after = ({"version_id": f"v{chance.randrange(1, 5)}"} for _ in range(2))
            return Aim(target=made.policy, arguments=after), before
        case "ec2.egress.restore":
            rule = rules(chance)
            before = {"rule": rule, "is_there": there}
            group = made.arn("security-group", made.group)
            return Aim(target=group, arguments={"rule": rule, "is_there": not there}), before
        case "ec2.acl_entry.restore":
            place = {"number": chance.randrange(200, 32000), "egress": chance.random() < 0.5}
            old, new = acl_entries(chance), acl_entries(chance)
            arguments = {**place, "entry": new, "replaces": old is not None}
            return Aim(target=made.arn("network-acl", made.acl), arguments=arguments), {
                **place,
                "entry": old,
                "replaces": False,
            }
        case "ec2.route.restore":
            destination = {"DestinationCidrBlock": f"10.{chance.randrange(31, 256)}.{chance.randrange(256)}.0/24"}
            old, new = (chance.choice([None, *({"GatewayId": one} for one in made.gateways)]) for _ in range(2))
            arguments = {"destination": destination, "via": new, "replaces": old is not None}
            return Aim(target=made.arn("route-table", made.table), arguments=arguments), {
                "destination": destination,
                "via": old,
                "replaces": False,
            }
        case _:
            return Aim(target=made.key, arguments={"is_enabled": wanted}), {"is_enabled": there}


def carry_out(made: Made, name: str, aim: Aim) -> None:
    """As an executor does: no call for what is so already."""
    kind = action_type(name)
    state = kind.read(aim, made.reader).state
    if state != kind.expected(aim, state):
        made.make(name, aim)


@pytest.mark.slow
@pytest.mark.parametrize("states", [10, *only_full(100)])
@pytest.mark.parametrize("name", sorted({name for name, _ in FAULTS}))
def test_the_undo_brings_back_every_state_byte_for_byte(made: Made, name: str, states: int) -> None:
    chance, kind, good = random.Random(name), action_type(name), made.baseline()
    for _ in range(states):
        aim, before = pairs(made, name, chance)
        carry_out(made, name, replace(aim, arguments=before))
        state = kind.read(aim, made.reader).state
        first = canonical_bytes(state)
        undo = kind.undo(aim, state)
        assert undo is not None
        carry_out(made, name, aim)
        assert kind.read(aim, made.reader).state == kind.expected(aim, state)
        carry_out(made, name, replace(aim, arguments=undo))
        assert canonical_bytes(kind.read(aim, made.reader).state) == first
    _put_back(made, good)


def _put_back(made: Made, good: SourceDocument) -> None:
    """The tests share what they break."""
    iam, ec2 = made.client("iam"), made.client("ec2")
    for name in iam.list_role_policies(RoleName=made.name)["PolicyNames"]:
        if name != "read":
            iam.delete_role_policy(RoleName=made.name, PolicyName=name)
    kept = good.document["network"]["security_groups"][made.group]["egress"]
    for rule in ec2.describe_security_groups(GroupIds=[made.group])["SecurityGroups"][0]["IpPermissionsEgress"]:
        if rule not in kept:
            ec2.revoke_security_group_egress(GroupId=made.group, IpPermissions=[rule])
    for route in ec2.describe_route_tables(RouteTableIds=[made.table])["RouteTables"][0]["Routes"]:
        if route["DestinationCidrBlock"] not in ("0.0.0.0/0", "10.30.0.0/16"):
            ec2.delete_route(RouteTableId=made.table, DestinationCidrBlock=route["DestinationCidrBlock"])
    for name in sorted({name for name, _ in FAULTS}):
        for aim in made.aims(name, good):
            made.make(name, aim)
    assert made.baseline().source.sha256 == good.source.sha256


# --- credentials -----------------------------------------------------------------------------------------------------


def granted(made: Made) -> Iterator[tuple[str, Aim]]:
    """One call of every kind, both ways, that changes nothing for good."""
    acl = {"number": 4000, "egress": True, "replaces": False}
    route = {"destination": {"DestinationCidrBlock": "10.99.0.0/16"}, "replaces": False}
    yield "iam.inline_policy.restore", Aim(target=made.role, arguments={"policy": "new", "document": READ})
    yield "iam.inline_policy.restore", Aim(target=made.role, arguments={"policy": "new", "document": None})
    yield "iam.attachment.restore", Aim(target=made.role, arguments={"policy_arn": made.policy, "is_attached": False})
    yield "iam.attachment.restore", Aim(target=made.role, arguments={"policy_arn": made.policy, "is_attached": True})
    yield "iam.policy_version.set_default", Aim(target=made.policy, arguments={"version_id": "v1"})
    group = made.arn("security-group", made.group)
    rule = {"IpProtocol": "tcp", "FromPort": 9, "ToPort": 9, "IpRanges": [{"CidrIp": "10.0.0.0/8"}]}
    yield "ec2.egress.restore", Aim(target=group, arguments={"rule": rule, "is_there": True})
    yield "ec2.egress.restore", Aim(target=group, arguments={"rule": rule, "is_there": False})
    yield "ec2.acl_entry.restore", Aim(target=made.arn("network-acl", made.acl), arguments={**acl, "entry": DENY})
    yield "ec2.acl_entry.restore", Aim(target=made.arn("network-acl", made.acl), arguments={**acl, "entry": None})
    table, via = made.arn("route-table", made.table), {"GatewayId": made.gateways[0]}
    yield "ec2.route.restore", Aim(target=table, arguments={**route, "via": via})
    yield "ec2.route.restore", Aim(target=table, arguments={**route, "via": None})
    yield "kms.key.enable", Aim(target=made.key, arguments={"is_enabled": False})
    yield "kms.key.enable", Aim(target=made.key, arguments={"is_enabled": True})


def test_a_credential_opens_its_own_call_both_ways(made: Made) -> None:
    door = AssumedRoleDoor(AwsClients(made.sandbox.region), executor_role(made.sandbox))
    for name, aim in granted(made):
        calls = action_type(name).calls(aim, None)
        changer = door.open(Grant(calls=calls, source_identity="alice", session_name="plan-1"))
        for call in calls:
            changer.call(call)


def test_a_credential_is_bound_to_its_role_group_and_policy(made: Made) -> None:
    door = AssumedRoleDoor(AwsClients(made.sandbox.region), executor_role(made.sandbox))
    attach = next(aim for name, aim in granted(made) if name == "iam.attachment.restore")
    aim = replace(attach, arguments={**attach.arguments, "is_attached": True})
    (own,) = action_type("iam.attachment.restore").calls(aim, None)
    changer = door.open(Grant(calls=(own,), source_identity="alice", session_name="plan-1"))
    admin = "arn:aws:iam::aws:policy/AdministratorAccess"
    for parameters in ({**own.parameters, "PolicyArn": admin}, {**own.parameters, "RoleName": "affidavit-executor"}):
        with pytest.raises(UpstreamFailed, match="may not call"):
            changer.call(replace(own, parameters=parameters))
    changer.call(own)
