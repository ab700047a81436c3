"""How packets of a function leave: egress of its groups, and the ACLs and route tables of its subnets.

The entries are kept in AWS's own shape, because that is what a repair has to send.
"""

from collections.abc import Callable, Iterable, Sequence

from affidavit.known_good.state_assembly import Section, Sheet, canonical_bytes, mapping
from affidavit.ports.json import Item, JsonValue
from affidavit.ports.workload_inspector import StateInspector

NETWORK = "network"


def read_network(sheet: Sheet, inspector: StateInspector, function: Item) -> None:
    vpc = mapping(function.get("VpcConfig"))
    subnets, groups, vpc_id = _names(vpc.get("SubnetIds")), _names(vpc.get("SecurityGroupIds")), str(vpc.get("VpcId"))
    if not subnets:
        return
    sheet.read(NETWORK, "security_groups", lambda: _groups(inspector.security_groups(groups)))
    sheet.read(NETWORK, "network_acls", lambda: _used(inspector.network_acls(vpc_id), subnets, "NetworkAclId", _acl))
    sheet.read(NETWORK, "route_tables", lambda: _used(inspector.route_tables(vpc_id), subnets, "RouteTableId", _table))


def _names(value: JsonValue) -> list[str]:
    return [str(name) for name in value] if isinstance(value, Sequence) and not isinstance(value, str) else []


def _listed(value: JsonValue) -> list[Item]:
    return [mapping(entry) for entry in value] if isinstance(value, Sequence) and not isinstance(value, str) else []


def _groups(raw: Sequence[Item]) -> Section:
    return {str(group["GroupId"]): {"egress": ordered(_listed(group.get("IpPermissionsEgress")))} for group in raw}


def _used(raw: Sequence[Item], subnets: list[str], key: str, kept: Callable[[Item], Section]) -> Section:
    """Of the tables of a VPC those that the subnets use: their own, else the VPC's main or default one."""
    owners = {str(one.get("SubnetId")): thing for thing in raw for one in _listed(thing.get("Associations"))}
    fallback = next((thing for thing in raw if _is_main(thing)), None)
    used = {subnet: owners.get(subnet, fallback) for subnet in subnets}
    return {
        str(thing[key]): {**kept(thing), "subnets": sorted(name for name, used_by in used.items() if used_by is thing)}
        for thing in used.values()
        if thing is not None
    }


def _is_main(thing: Item) -> bool:
    return bool(thing.get("IsDefault")) or any(one.get("Main") for one in _listed(thing.get("Associations")))


def _acl(raw: Item) -> Section:
    return {"entries": ordered(_listed(raw.get("Entries")))}


def _table(raw: Item) -> Section:
    """Without the routes that AWS makes and nobody can: the local one."""
    routes = (route for route in _listed(raw.get("Routes")) if route.get("Origin") != "CreateRouteTable")
    return {"routes": ordered(routes)}


def ordered(entries: Iterable[Item]) -> list[JsonValue]:
    """AWS gives them in no order; the same entries are the same state."""
    return sorted(({**entry} for entry in entries), key=canonical_bytes)
