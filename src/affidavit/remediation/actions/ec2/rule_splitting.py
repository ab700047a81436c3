"""Egress rules taken apart: a permission of AWS's holds several ranges, a rule of ours one."""

from collections.abc import Iterator

from affidavit.ports.json import Item, JsonValue
from affidavit.remediation.actions.trail_event_fields import field, items

# The list a range stands in, the name of its value, and what CloudTrail calls the list.
_RANGES = (
    ("IpRanges", "CidrIp", "ipRanges"),
    ("Ipv6Ranges", "CidrIpv6", "ipv6Ranges"),
    ("PrefixListIds", "PrefixListId", "prefixListIds"),
    ("UserIdGroupPairs", "GroupId", "groups"),
)


def single_rules(permission: Item) -> Iterator[Item]:
    """One rule for each range, without descriptions: those do not decide what passes."""
    head = _head(permission)
    for listed, name, told in _RANGES:
        for entry in items(permission.get(listed) or permission.get(told)):
            value = field(entry, name[0].lower() + name[1:])
            if value:
                yield {**head, listed: [{name: value}]}


def _head(permission: Item) -> dict[str, JsonValue]:
    ports = {"FromPort": field(permission, "fromPort"), "ToPort": field(permission, "toPort")}
    protocol = str(field(permission, "ipProtocol"))
    given = {name: port for name, port in ports.items() if isinstance(port, int) and protocol != "-1"}
    return {"IpProtocol": protocol, **given}
