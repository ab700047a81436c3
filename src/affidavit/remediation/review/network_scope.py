"""Compares rules, entries and routes with those of a source: the same, never wider."""

from collections.abc import Iterator

from affidavit.ports.json import Item, JsonValue
from affidavit.remediation.review.source_document_fields import listed, mapping

# The list a range stands in, the name of its value, and what CloudTrail calls the list.
_RANGES = (
    ("IpRanges", "CidrIp", "ipRanges"),
    ("Ipv6Ranges", "CidrIpv6", "ipv6Ranges"),
    ("PrefixListIds", "PrefixListId", "prefixListIds"),
    ("UserIdGroupPairs", "GroupId", "groups"),
)
_DESTINATIONS = ("DestinationCidrBlock", "DestinationIpv6CidrBlock", "DestinationPrefixListId")
_EVERY_PROTOCOL = "-1"
_LAST_ENTRY = 32767


def allows_rule(told: JsonValue, rule: JsonValue) -> bool:
    """Whether the source has a rule of this protocol, these ports and this one range."""
    wanted = set(_single(mapping(rule)))
    return len(wanted) == 1 and any(wanted <= set(_single(one)) for one in listed(told))


def allows_entry(told: JsonValue, arguments: Item) -> bool:
    """Whether the source has this entry under this number; or, for none, nothing under it."""
    place = (arguments["number"], arguments["egress"])
    there = [_entry(one) for one in listed(told) if (one.get("RuleNumber"), one.get("Egress")) == place]
    if arguments["number"] == _LAST_ENTRY:
        return False
    return there == [arguments["entry"]] if arguments["entry"] is not None else not there


def allows_route(told: JsonValue, arguments: Item) -> bool:
    """Whether the source has a route to exactly this destination, through exactly this."""
    destination, via = mapping(arguments["destination"]), mapping(arguments["via"])
    if len(via) != 1 or len(destination) != 1:
        return False
    return any(
        {name: one[name] for name in _DESTINATIONS if one.get(name)} == destination
        and all(one.get(name) == value for name, value in via.items())
        for one in listed(told)
    )


def _single(permission: Item) -> Iterator[tuple[str, str, str, str, str]]:
    """Protocol, ports, kind and value of each range. Ports mean nothing where every protocol passes."""
    protocol = str(_named(permission, "IpProtocol"))
    ports = [str(_named(permission, name)) for name in ("FromPort", "ToPort")]
    first, final = ("", "") if protocol == _EVERY_PROTOCOL else ports
    for name, value, in_events in _RANGES:
        for entry in listed(permission.get(name) or permission.get(in_events)):
            yield protocol, first, final, name, str(_named(entry, value))


def _named(value: Item, name: str) -> JsonValue:
    return value.get(name, value.get(name[0].lower() + name[1:]))


def _entry(entry: Item) -> Item:
    return {name: value for name, value in entry.items() if name not in ("RuleNumber", "Egress")}
