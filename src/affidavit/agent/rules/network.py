"""Network faults: a host that cannot be reached or a name that does not resolve, explained by what blocks the way."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from affidavit.agent.rules.facts import NETWORK, Facts
from affidavit.agent.rules.fault import Fault, Remedy, names, proofs
from affidavit.agent.rules.runs import Sign
from affidavit.evidence.diagnosis import EvidencePointer, FaultType, RiskLevel

HTTPS = 443
# Where answers come back to: ports a client picks.
REPLIES = 32_768
ANYWHERE = "0.0.0.0/0"

EFFECTS = frozenset({"unreachable", "unresolved", "timed-out", "raised"})

Block = tuple[str, tuple[str, ...], tuple[EvidencePointer, ...]]
"""The cause in words, what it is about, and what shows it."""


def network_faults(facts: Facts) -> Iterator[Fault]:
    signs = facts.history.current("unreachable", "unresolved")
    if signs and not facts.network.get("in_vpc"):
        yield _unexplained(facts, signs)
    silent = [] if signs else facts.history.current("timed-out")
    if not facts.network.get("in_vpc") or not (signs or silent):
        return
    blocks = list(_blocks(facts, is_naming=any(sign.kind == "unresolved" for sign in signs)))
    # Nothing blocks the way, all of it was read, and a packet got through: somebody has opened it again.
    is_open = not blocks and not facts.network.get("not_read")
    if blocks or (signs and not (is_open and facts.history.has_passed("unreachable", "unresolved"))):
        yield _blocked(facts, signs or silent, blocks)


def _blocked(facts: Facts, signs: Sequence[Sign], blocks: Sequence[Block]) -> Fault:
    cause = "; ".join(block[0] for block in blocks) or "the VPC's settings do not show what stops them"
    resources = [name for block in blocks for name in block[1]] or [str(facts.network.get("vpc_id") or facts.function)]
    return Fault(
        kind=FaultType.NETWORK_BLOCK,
        cause=f"packets of {facts.function} do not get through: {cause}",
        resources=names(*resources),
        proof=(*_quotes(facts, signs), *(pointer for block in blocks for pointer in block[2])),
        remedy=Remedy(action="Open the way again", details=f"{cause[0].upper()}{cause[1:]}.", risk=RiskLevel.MEDIUM),
        explains=EFFECTS,
        gaps=() if blocks else ("what blocks the way",),
    )


def _unexplained(facts: Facts, signs: Sequence[Sign]) -> Fault:
    """Nobody looked at the way, or there is none of ours: the far end may be at fault as well."""
    why = "the function is not in a VPC" if facts.network else "how its packets leave was not read"
    return Fault(
        kind=FaultType.UNKNOWN,
        cause=f"{facts.function or 'the function'} cannot reach what it calls, and {why}",
        resources=names(facts.function),
        proof=_quotes(facts, signs),
        remedy=Remedy(
            action="See whether the called host answers others", details="The way and the far end are both open."
        ),
        explains=EFFECTS,
        gaps=("whether the way or the far end is at fault",),
    )


def _quotes(facts: Facts, signs: Sequence[Sign]) -> tuple[EvidencePointer, ...]:
    return tuple(facts.quote(sign, shows="The function could not reach what it calls.") for sign in signs)


def _blocks(facts: Facts, *, is_naming: bool) -> Iterator[Block]:
    dns: Mapping[str, Any] = facts.network.get("dns") or {}
    if is_naming and dns.get("support") is False:
        vpc = str(facts.network.get("vpc_id"))
        shown = facts.point(NETWORK, "dns", "support", shows="The VPC's resolver is switched off.")
        yield f"DNS support of {vpc} is off", (vpc,), proofs(shown)
    yield from _egress(facts)
    seen: set[str] = set()
    for place, subnet in enumerate(facts.network.get("subnets", [])):
        for block in (*_nacl(facts, place, subnet), *_routes(facts, place, subnet)):
            if block[0] not in seen:
                seen.add(block[0])
                yield block


def _egress(facts: Facts) -> Iterator[Block]:
    """Groups add up: one that lets HTTPS out to anywhere is enough."""
    groups = facts.network.get("security_groups", [])
    rules = [rule for group in groups for rule in group.get("egress", [])]
    if not groups or any(_allows_out(rule) for rule in rules):
        return
    group = groups[0]
    parts = (
        "security_groups",
        0,
        "egress",
        *((0, "to", 0) if group.get("egress") and group["egress"][0].get("to") else ()),
    )
    shown = facts.point(NETWORK, *parts, shows="What the group lets out.")
    ports = (
        facts.point(NETWORK, "security_groups", 0, "egress", 0, "ports", shows="On which ports.")
        if group.get("egress")
        else None
    )
    listed = tuple(str(one["group_id"]) for one in groups)
    yield f"egress of security group {', '.join(listed)} does not allow HTTPS out", listed, proofs(shown, ports)


def _allows_out(rule: Mapping[str, Any]) -> bool:
    to_far = any(to == ANYWHERE or str(to).startswith("pl-") for to in rule.get("to", []))
    return (
        to_far
        and str(rule.get("protocol")) in ("all", "-1", "tcp", "6")
        and _has_port(str(rule.get("ports", "all")), HTTPS)
    )


def _nacl(facts: Facts, place: int, subnet: Mapping[str, Any]) -> Iterator[Block]:
    for direction, port, what in (("egress", HTTPS, "HTTPS out"), ("ingress", REPLIES, "answers back in")):
        ordered = sorted(
            (
                (number, rule)
                for number, rule in enumerate(subnet.get("nacl_rules", []))
                if rule["direction"] == direction
            ),
            key=lambda one: one[1]["number"],
        )
        decides = next(((number, rule) for number, rule in ordered if _applies(rule, port)), None)
        if decides is None or decides[1]["action"] != "deny":
            continue
        acl = str(subnet.get("nacl_id"))
        number = decides[0]
        action = facts.point(
            NETWORK, "subnets", place, "nacl_rules", number, "action", shows=f"The rule that decides on {what}."
        )
        ports = facts.point(NETWORK, "subnets", place, "nacl_rules", number, "ports", shows="Its ports.")
        yield f"network ACL {acl} denies {what}", (acl,), proofs(action, ports)


def _applies(rule: Mapping[str, Any], port: int) -> bool:
    is_tcp = str(rule.get("protocol")) in ("all", "-1", "tcp", "6")
    return is_tcp and rule.get("cidr") in (ANYWHERE, None) and _has_port(str(rule.get("ports", "all")), port)


def _has_port(ports: str, port: int) -> bool:
    if ports == "all":
        return True
    low, _, high = ports.partition("-")
    return low.isdigit() and int(low) <= port <= int(high or low)


def _routes(facts: Facts, place: int, subnet: Mapping[str, Any]) -> Iterator[Block]:
    table = str(subnet.get("route_table_id"))
    for number, route in enumerate(subnet.get("routes", [])):
        if route.get("state") == "blackhole":
            shown = facts.point(
                NETWORK, "subnets", place, "routes", number, "state", shows="The route's target is gone."
            )
            target = str(route.get("target"))
            yield (
                f"route table {table} sends {route.get('destination')} to {target}, which is gone",
                (table, target),
                proofs(shown),
            )
            return
    if subnet.get("has_default_route") is False:
        shown = facts.point(NETWORK, "subnets", place, "has_default_route", shows="Whether a route leaves the VPC.")
        yield f"route table {table} has no default route out of the VPC", (table,), proofs(shown)
