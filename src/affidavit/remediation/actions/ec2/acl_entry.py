"""`ec2.acl_entry.restore`: puts one entry of a network ACL back as it was, or takes away one that was not there."""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from pydantic import JsonValue as PydanticJson

from affidavit.errors import NotFound
from affidavit.evidence.diagnosis import RiskLevel
from affidavit.evidence.incident_subject import Subject
from affidavit.ports.argument_sources import SourceDocument, SourceKind
from affidavit.ports.aws_reads_and_changes import ApiCall, StateReader
from affidavit.ports.json import Item
from affidavit.remediation.actions.action_type import Aim, Arguments, Reading
from affidavit.remediation.actions.ec2.function_vpc_lookup import ec2_arn, entries, id_in, kept, subnets_of, vpc_of
from affidavit.remediation.actions.ec2.network_repair import NetworkRepair
from affidavit.remediation.actions.source_document_values import at_path

# AWS's own last entry of every list, which nobody can change.
LAST = 32767
_ANYWHERE = ("0.0.0.0/0", "::/0")


class AclEntryArguments(Arguments):
    """`entry` is None where there was none. `replaces` tells whether one stands there now: AWS has a call for each."""

    number: int
    egress: bool
    entry: dict[str, PydanticJson] | None
    replaces: bool


class RestoreAclEntry(NetworkRepair):
    name = "ec2.acl_entry.restore"
    risk = RiskLevel.HIGH
    arguments: type[Arguments] = AclEntryArguments

    def aims(self, subject: Subject, said: SourceDocument, reader: StateReader) -> Sequence[Aim]:
        """Only a known-good state lists all entries, so that one that is missing from it is known to be new."""
        if said.source.kind is not SourceKind.BASELINE:
            return []
        vpc = vpc_of(subject, reader)
        return [
            aim
            for acl, one in kept(said.document, "network_acls").items()
            for aim in _aims(vpc.arn("network-acl", acl), _numbered(entries(at_path(one, "entries"))), reader)
        ]

    def read(self, aim: Aim, reader: StateReader) -> Reading:
        live = _numbered(_entries(aim.target, reader))
        return Reading(state={"entry": live.get((_number(aim.arguments), aim.arguments["egress"] is True))})

    def problems(self, aim: Aim, live: Reading, reader: StateReader) -> Sequence[str]:
        entry = aim.arguments["entry"]
        found = [] if (live.state["entry"] is not None) == aim.arguments["replaces"] else ["the entry came or went"]
        if isinstance(entry, Mapping) and not aim.arguments["egress"] and _is_open(entry):
            found.append("it would let everybody in")
        return found

    def expected(self, aim: Aim, state: Item) -> Item:
        return {"entry": aim.arguments["entry"]}

    def undo(self, aim: Aim, state: Item) -> Item | None:
        return {**aim.arguments, "entry": state["entry"], "replaces": aim.arguments["entry"] is not None}

    def calls(self, aim: Aim, token: str | None) -> tuple[ApiCall, ...]:
        entry = cast("Item | None", aim.arguments["entry"])
        place: Item = {
            "NetworkAclId": id_in(aim.target),
            "RuleNumber": aim.arguments["number"],
            "Egress": aim.arguments["egress"],
        }
        if entry is None:
            return (_call("DeleteNetworkAclEntry", "delete_network_acl_entry", aim.target, place),)
        if aim.arguments["replaces"]:
            return (_call("ReplaceNetworkAclEntry", "replace_network_acl_entry", aim.target, {**entry, **place}),)
        return (_call("CreateNetworkAclEntry", "create_network_acl_entry", aim.target, {**entry, **place}),)

    def touches(self, aim: Aim, reader: StateReader) -> Sequence[str]:
        """The ACL and every subnet behind it."""
        found = reader.read("ec2", "describe_network_acls", NetworkAclIds=[id_in(aim.target)])["NetworkAcls"]
        subnets = [name for acl in entries(found) for name in subnets_of(acl)]
        return [aim.target, *(ec2_arn(aim.target, "subnet", name) for name in subnets)]


def _aims(acl: str, good: Mapping[tuple[int, bool], Item], reader: StateReader) -> Iterator[Aim]:
    live = _numbered(_entries(acl, reader))
    for number, egress in sorted({*good, *live}):
        was, now = good.get((number, egress)), live.get((number, egress))
        # An entry that denied cannot be what lets packets out again.
        if was != now and (was is None or was.get("RuleAction") != "deny"):
            said: Item = {"number": number, "egress": egress, "entry": was, "replaces": now is not None}
            yield Aim(target=acl, arguments=said)


def _entries(acl: str, reader: StateReader) -> list[Item]:
    found = entries(reader.read("ec2", "describe_network_acls", NetworkAclIds=[id_in(acl)])["NetworkAcls"])
    if not found:
        raise NotFound(f"there is no network ACL {id_in(acl)}", hint="propose again")
    return entries(found[0].get("Entries"))


def _numbered(listed: Sequence[Item]) -> dict[tuple[int, bool], Item]:
    """Entries by number and direction, without either, so that what is left is what is set."""
    return {
        (_rule_number(one), one.get("Egress") is True): {
            key: value for key, value in one.items() if key not in ("RuleNumber", "Egress")
        }
        for one in listed
        if _rule_number(one) != LAST
    }


def _rule_number(entry: Item) -> int:
    return int(str(entry["RuleNumber"]))


def _number(arguments: Item) -> int:
    return int(str(arguments["number"]))


def _is_open(entry: Item) -> bool:
    anywhere = entry.get("CidrBlock") in _ANYWHERE or entry.get("Ipv6CidrBlock") in _ANYWHERE
    return anywhere and entry.get("RuleAction") == "allow"


def _call(action: str, operation: str, acl: str, parameters: Item) -> ApiCall:
    return ApiCall(service="ec2", operation=operation, parameters=parameters, action=f"ec2:{action}", resource=acl)
