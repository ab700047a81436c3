"""How packets of the function leave its VPC: routes, security-group egress, network ACLs, endpoints, DNS."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from affidavit.ports.json import Item
from affidavit.ports.workload_inspector import WorkloadInspector
from affidavit.workloads.partial_answers import Parts
from affidavit.workloads.wire import (
    DnsState,
    Document,
    EgressRule,
    EndpointState,
    NaclRule,
    NetworkStateResponse,
    Route,
    SecurityGroupState,
    SubnetState,
    VpcMembership,
)

PROTOCOLS = {"-1": "all", "1": "icmp", "6": "tcp", "17": "udp"}
ANYWHERE = ("0.0.0.0/0", "::/0")


class _Raw(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Function(_Raw):
    VpcConfig: VpcMembership | None = None


class _Subnet(_Raw):
    SubnetId: str
    AvailabilityZone: str | None = None
    CidrBlock: str | None = None
    AvailableIpAddressCount: int | None = None


class _Association(_Raw):
    SubnetId: str | None = None
    Main: bool = False


class _Route(_Raw):
    DestinationCidrBlock: str | None = None
    DestinationIpv6CidrBlock: str | None = None
    DestinationPrefixListId: str | None = None
    GatewayId: str | None = None
    NatGatewayId: str | None = None
    TransitGatewayId: str | None = None
    NetworkInterfaceId: str | None = None
    InstanceId: str | None = None
    VpcPeeringConnectionId: str | None = None
    EgressOnlyInternetGatewayId: str | None = None
    State: str = "active"


class _RouteTable(_Raw):
    RouteTableId: str
    Associations: list[_Association] = Field(default_factory=list[_Association])
    Routes: list[_Route] = Field(default_factory=list[_Route])


class _Ports(_Raw):
    From: int | None = None
    To: int | None = None


class _AclEntry(_Raw):
    RuleNumber: int
    Egress: bool
    RuleAction: str
    Protocol: str = "-1"
    CidrBlock: str | None = None
    Ipv6CidrBlock: str | None = None
    PortRange: _Ports = _Ports()


class _Acl(_Raw):
    NetworkAclId: str
    IsDefault: bool = False
    Associations: list[_Association] = Field(default_factory=list[_Association])
    Entries: list[_AclEntry] = Field(default_factory=list[_AclEntry])


class _Cidr(_Raw):
    CidrIp: str | None = None
    CidrIpv6: str | None = None
    PrefixListId: str | None = None
    GroupId: str | None = None


class _Permission(_Raw):
    IpProtocol: str
    FromPort: int | None = None
    ToPort: int | None = None
    IpRanges: list[_Cidr] = Field(default_factory=list[_Cidr])
    Ipv6Ranges: list[_Cidr] = Field(default_factory=list[_Cidr])
    PrefixListIds: list[_Cidr] = Field(default_factory=list[_Cidr])
    UserIdGroupPairs: list[_Cidr] = Field(default_factory=list[_Cidr])


class _Group(_Raw):
    GroupId: str
    GroupName: str | None = None
    IpPermissionsEgress: list[_Permission] = Field(default_factory=list[_Permission])


class _Endpoint(_Raw):
    VpcEndpointId: str
    ServiceName: str
    VpcEndpointType: str = "Gateway"
    State: str = "unknown"
    RouteTableIds: list[str] = Field(default_factory=list[str])
    SubnetIds: list[str] = Field(default_factory=list[str])
    PrivateDnsEnabled: bool | None = None
    PolicyDocument: Document | None = None


class _Dns(_Raw):
    support: bool | None = Field(default=None, alias="enableDnsSupport")
    hostnames: bool | None = Field(default=None, alias="enableDnsHostnames")
    servers: list[str] = Field(default_factory=list[str], alias="domain-name-servers")


def network_state(inspector: WorkloadInspector, name: str) -> NetworkStateResponse:
    """Raises NotFound when there is no such function."""
    vpc = _Function.model_validate(inspector.function(name)).VpcConfig
    if vpc is None or not vpc.SubnetIds:
        return NetworkStateResponse(lambda_name=name, in_vpc=False)
    parts = Parts()
    return NetworkStateResponse(
        lambda_name=name,
        in_vpc=True,
        vpc_id=vpc.VpcId,
        subnets=_subnets(inspector, vpc, parts),
        security_groups=_groups(parts.read("security groups", lambda: inspector.security_groups(vpc.SecurityGroupIds))),
        endpoints=_endpoints(parts.read("endpoints", lambda: inspector.endpoints(vpc.VpcId or ""))),
        dns=parts.read("DNS settings", lambda: _dns(inspector.dns(vpc.VpcId or ""))),
        not_read=parts.not_read,
    )


def _subnets(inspector: WorkloadInspector, vpc: VpcMembership, parts: Parts) -> list[SubnetState]:
    vpc_id = vpc.VpcId or ""
    subnets = parts.read("subnets", lambda: inspector.subnets(vpc.SubnetIds)) or ()
    tables = parts.read("route tables", lambda: _route_tables(inspector.route_tables(vpc_id)))
    acls = parts.read("network ACLs", lambda: _acls(inspector.network_acls(vpc_id)))
    return [_subnet(_Subnet.model_validate(subnet), tables, acls) for subnet in subnets]


def _route_tables(raw: Sequence[Item]) -> list[_RouteTable]:
    return [_RouteTable.model_validate(table) for table in raw]


def _acls(raw: Sequence[Item]) -> list[_Acl]:
    return [_Acl.model_validate(acl) for acl in raw]


def _subnet(subnet: _Subnet, tables: list[_RouteTable] | None, acls: list[_Acl] | None) -> SubnetState:
    table = _table_of(subnet.SubnetId, tables or [])
    acl = _acl_of(subnet.SubnetId, acls or [])
    routes = [_route(route) for route in table.Routes] if table else []
    return SubnetState(
        subnet_id=subnet.SubnetId,
        zone=subnet.AvailabilityZone,
        cidr=subnet.CidrBlock,
        free_addresses=subnet.AvailableIpAddressCount,
        route_table_id=table.RouteTableId if table else None,
        routes=routes,
        has_default_route=_leaves(routes) if table else None,
        nacl_id=acl.NetworkAclId if acl else None,
        nacl_rules=sorted((_nacl_rule(entry) for entry in acl.Entries), key=_in_order) if acl else [],
    )


def _table_of(subnet_id: str, tables: list[_RouteTable]) -> _RouteTable | None:
    own = [table for table in tables if any(entry.SubnetId == subnet_id for entry in table.Associations)]
    main = [table for table in tables if any(entry.Main for entry in table.Associations)]
    return next(iter([*own, *main]), None)


def _acl_of(subnet_id: str, acls: list[_Acl]) -> _Acl | None:
    own = [acl for acl in acls if any(entry.SubnetId == subnet_id for entry in acl.Associations)]
    return next(iter([*own, *(acl for acl in acls if acl.IsDefault)]), None)


def _route(route: _Route) -> Route:
    targets = (
        route.NatGatewayId,
        route.GatewayId,
        route.TransitGatewayId,
        route.VpcPeeringConnectionId,
        route.NetworkInterfaceId,
        route.InstanceId,
        route.EgressOnlyInternetGatewayId,
    )
    destinations = (route.DestinationCidrBlock, route.DestinationIpv6CidrBlock, route.DestinationPrefixListId)
    return Route(
        destination=next((text for text in destinations if text), "unknown"),
        target=next((text for text in targets if text), "unknown"),
        state=route.State,
    )


def _leaves(routes: list[Route]) -> bool:
    return any(route.destination in ANYWHERE and route.state == "active" for route in routes)


def _nacl_rule(entry: _AclEntry) -> NaclRule:
    return NaclRule.model_validate(
        {
            "number": entry.RuleNumber,
            "direction": "egress" if entry.Egress else "ingress",
            "action": entry.RuleAction,
            "protocol": _protocol(entry.Protocol),
            "cidr": entry.CidrBlock or entry.Ipv6CidrBlock or "unknown",
            "ports": _ports(entry.PortRange.From, entry.PortRange.To),
        }
    )


def _in_order(rule: NaclRule) -> tuple[str, int]:
    return rule.direction, rule.number


def _groups(raw: Sequence[Item] | None) -> list[SecurityGroupState]:
    groups = [_Group.model_validate(group) for group in raw or ()]
    return [
        SecurityGroupState(
            group_id=group.GroupId, name=group.GroupName, egress=[_egress(rule) for rule in group.IpPermissionsEgress]
        )
        for group in groups
    ]


def _egress(rule: _Permission) -> EgressRule:
    ranges = [*rule.IpRanges, *rule.Ipv6Ranges, *rule.PrefixListIds, *rule.UserIdGroupPairs]
    to = [text for entry in ranges if (text := entry.CidrIp or entry.CidrIpv6 or entry.PrefixListId or entry.GroupId)]
    return EgressRule(protocol=_protocol(rule.IpProtocol), ports=_ports(rule.FromPort, rule.ToPort), to=to)


def _endpoints(raw: Sequence[Item] | None) -> list[EndpointState]:
    return [_endpoint(_Endpoint.model_validate(entry)) for entry in raw or ()]


def _endpoint(entry: _Endpoint) -> EndpointState:
    return EndpointState(
        endpoint_id=entry.VpcEndpointId,
        service=entry.ServiceName,
        kind=entry.VpcEndpointType,
        state=entry.State,
        route_table_ids=entry.RouteTableIds,
        subnet_ids=entry.SubnetIds,
        private_dns=entry.PrivateDnsEnabled,
        policy=entry.PolicyDocument,
    )


def _dns(raw: Item) -> DnsState:
    dns = _Dns.model_validate(raw)
    return DnsState(support=dns.support, hostnames=dns.hostnames, servers=dns.servers)


def _protocol(text: str) -> str:
    return PROTOCOLS.get(text, text)


def _ports(first: int | None, last: int | None) -> str:
    if first is None or last is None or (first, last) in ((-1, -1), (0, 65535)):
        return "all"
    return str(first) if first == last else f"{first}-{last}"
