"""What keeps packets of a function in a VPC from getting through: DNS, security groups, network ACLs, routes."""

import ipaddress
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from affidavit.agent.rules.fault import proofs
from affidavit.agent.rules.ledger_facts import NETWORK, Facts
from affidavit.agent.rules.network.hosts_named_in_logs import HTTPS, Target
from affidavit.evidence.diagnosis import EvidencePointer

# Where answers come back to: ports a client picks.
REPLIES = 32_768
DNS_PORT = 53
ANYWHERE = "0.0.0.0/0"
# Services that have a prefix list, as the gateway endpoints do.
_LISTED = re.compile(r"(^|\.)(s3|dynamodb)[.-]|^anywhere$")
AMAZON_DNS = "AmazonProvidedDNS"

Block = tuple[str, tuple[str, ...], tuple[EvidencePointer, ...]]
"""The cause in words, what it is about, and what shows it."""


def blocks(facts: Facts, reached: Sequence[Target], *, is_naming: bool) -> list[Block]:
    """Each once. Without a known target the way of HTTPS to anywhere is looked at."""
    found: dict[str, Block] = {}
    for block in (*_dns(facts, is_naming=is_naming), *_of_targets(facts, reached)):
        found.setdefault(block[0], block)
    return list(found.values())


def _of_targets(facts: Facts, reached: Sequence[Target]) -> Iterator[Block]:
    for target in reached or [Target(host="anywhere")]:
        yield from _egress(facts, target)
        for place, subnet in enumerate(facts.network.get("subnets", [])):
            yield from _nacl(facts, place, subnet, target)
            yield from _routes(facts, place, subnet, target)


def _dns(facts: Facts, *, is_naming: bool) -> Iterator[Block]:
    dns: Mapping[str, Any] = facts.network.get("dns") or {}
    vpc = str(facts.network.get("vpc_id"))
    if not is_naming:
        return
    if dns.get("support") is False:
        shown = facts.point(NETWORK, "dns", "support", shows="The VPC's resolver is switched off.")
        yield f"DNS support (enableDnsSupport) of {vpc} is off", (vpc,), proofs(shown)
    own = [server for server in dns.get("servers", []) if server != AMAZON_DNS]
    rules = [rule for group in facts.network.get("security_groups", []) for rule in group.get("egress", [])]
    if own and rules and not any(_lets_out(rule, DNS_PORT, own[0], "udp") for rule in rules):
        groups = tuple(str(group["group_id"]) for group in facts.network["security_groups"])
        shown = facts.point(NETWORK, "dns", "servers", 0, shows="The name server that the VPC uses.")
        listed = ", ".join(groups)
        cause = f"egress of security group {listed} does not allow DNS (UDP port 53) to the VPC's name server {own[0]}"
        yield cause, groups, proofs(shown, _first_rule(facts))


def _egress(facts: Facts, target: Target) -> Iterator[Block]:
    """Groups add up: one that lets the port out to the target is enough."""
    groups = facts.network.get("security_groups", [])
    rules = [rule for group in groups for rule in group.get("egress", [])]
    if not groups or any(_lets_out(rule, target.port, target.address, "tcp", target) for rule in rules):
        return
    listed = tuple(str(one["group_id"]) for one in groups)
    what = f"HTTPS (port {HTTPS})" if target.port == HTTPS else f"port {target.port}"
    shown = _first_rule(facts) or facts.point(NETWORK, "security_groups", 0, "egress", shows="It lets nothing out.")
    ports = facts.point(NETWORK, "security_groups", 0, "egress", 0, "ports", shows="On which ports.")
    yield f"egress of security group {', '.join(listed)} does not allow {what} out", listed, proofs(shown, ports)


def _first_rule(facts: Facts) -> EvidencePointer | None:
    return facts.point(NETWORK, "security_groups", 0, "egress", 0, "to", 0, shows="What the group lets out.")


def _lets_out(
    rule: Mapping[str, Any], port: int, address: str | None, protocol: str, target: Target | None = None
) -> bool:
    numbers = {"tcp": ("tcp", "6"), "udp": ("udp", "17")}[protocol]
    if str(rule.get("protocol")) not in ("all", "-1", *numbers) or not _has_port(str(rule.get("ports", "all")), port):
        return False
    return any(_covers(str(to), address, target) for to in rule.get("to", []))


def _covers(to: str, address: str | None, target: Target | None) -> bool:
    if to in (ANYWHERE, "::/0"):
        return True
    if address is None:
        # A name: a rule to a part of the world may or may not hold it; a private name is most likely meant by it.
        is_listed = to.startswith("pl-") and (target is None or _LISTED.search(target.host) is not None)
        return is_listed or (target is not None and target.is_private)
    if to.startswith(("sg-", "pl-")):
        return True
    return _holds(to, address)


def _holds(cidr: str, address: str) -> bool:
    try:
        return ipaddress.ip_address(address) in ipaddress.ip_network(cidr, strict=False)
    except ValueError:
        return False


def _nacl(facts: Facts, place: int, subnet: Mapping[str, Any], target: Target) -> Iterator[Block]:
    out = "HTTPS out" if target.port == HTTPS else f"port {target.port} out"
    for direction, port, what in (("egress", target.port, out), ("ingress", REPLIES, "answers back in")):
        listed = [
            (number, rule) for number, rule in enumerate(subnet.get("nacl_rules", [])) if rule["direction"] == direction
        ]
        ordered = sorted(listed, key=lambda one: one[1]["number"])
        decides = next(((number, rule) for number, rule in ordered if _applies(rule, port, target.address)), None)
        if decides is None or decides[1]["action"] != "deny":
            continue
        acl = str(subnet.get("nacl_id"))
        at = ("subnets", place, "nacl_rules", decides[0])
        action = facts.point(NETWORK, *at, "action", shows=f"The rule that decides on {what}.")
        ports = facts.point(NETWORK, *at, "ports", shows="Its ports.")
        yield f"network ACL {acl} denies {what}", (acl,), proofs(action, ports)


def _applies(rule: Mapping[str, Any], port: int, address: str | None) -> bool:
    is_tcp = str(rule.get("protocol")) in ("all", "-1", "tcp", "6")
    cidr = rule.get("cidr")
    is_there = cidr in (ANYWHERE, None) or (address is not None and _holds(str(cidr), address))
    return is_tcp and is_there and _has_port(str(rule.get("ports", "all")), port)


def _has_port(ports: str, port: int) -> bool:
    if ports == "all":
        return True
    low, _, high = ports.partition("-")
    return low.isdigit() and int(low) <= port <= int(high or low)


def _routes(facts: Facts, place: int, subnet: Mapping[str, Any], target: Target) -> Iterator[Block]:
    table = str(subnet.get("route_table_id"))
    routes: Sequence[Mapping[str, Any]] = subnet.get("routes", [])
    if not routes and subnet.get("has_default_route") is None:
        return
    taken = _taken(routes, target)
    if taken is None:
        if target.is_private and target.address is None:
            return
        shown = facts.point(NETWORK, "subnets", place, "has_default_route", shows="Whether a route leaves the VPC.")
        where = f"to {target.address}" if target.address else "out of the VPC"
        name = "no route" if target.address and target.is_private else "no default route"
        yield f"route table {table} has {name} {where}", (table,), proofs(shown)
        return
    number, route = taken
    gone = str(route.get("target"))
    at = ("subnets", place, "routes", number)
    if route.get("state") == "blackhole":
        shown = facts.point(NETWORK, *at, "state", shows="The route's target is gone (a blackhole).")
        cause = f"route table {table} sends {route.get('destination')} to {gone}, which is gone (blackhole)"
        yield cause, (table, gone), proofs(shown, facts.point(NETWORK, *at, "destination", shows="Its destination."))
    elif gone.startswith("igw-"):
        shown = facts.point(NETWORK, *at, "target", shows="Where the default route leads.")
        cause = (
            f"route table {table} sends {route.get('destination')} to the internet gateway {gone}, which is no way out "
            "for a function: its interfaces have no public address, it needs a NAT gateway"
        )
        yield cause, (table, gone), proofs(shown)


def _taken(routes: Sequence[Mapping[str, Any]], target: Target) -> tuple[int, Mapping[str, Any]] | None:
    """The route that packets to the target take: the longest prefix; to a name outside, the default route."""
    if target.address is None and target.is_private:
        return None
    fitting: list[tuple[int, int, Mapping[str, Any]]] = []
    for number, route in enumerate(routes):
        cidr = str(route.get("destination"))
        if cidr == ANYWHERE or (target.address is not None and _holds(cidr, target.address)):
            fitting.append((_length(cidr), number, route))
    if not fitting:
        return None
    _, number, route = max(fitting, key=lambda one: one[0])
    return number, route


def _length(cidr: str) -> int:
    return int(cidr.partition("/")[2] or 32)
