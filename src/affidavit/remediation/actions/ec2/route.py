"""`ec2.route.restore`: puts one route of a route table back as it was."""

from collections.abc import Iterator, Sequence
from typing import cast

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

_DESTINATIONS = ("DestinationCidrBlock", "DestinationIpv6CidrBlock", "DestinationPrefixListId")
_TARGETS = (
    "NatGatewayId",
    "GatewayId",
    "TransitGatewayId",
    "VpcPeeringConnectionId",
    "NetworkInterfaceId",
    "EgressOnlyInternetGatewayId",
)


class RouteArguments(Arguments):
    """`via` is None where there was no such route: in an undo alone. `replaces` tells whether one stands there now."""

    destination: dict[str, str]
    via: dict[str, str] | None
    replaces: bool


class RestoreRoute(NetworkRepair):
    name = "ec2.route.restore"
    risk = RiskLevel.HIGH
    arguments: type[Arguments] = RouteArguments

    def aims(self, subject: Subject, said: SourceDocument, reader: StateReader) -> Sequence[Aim]:
        if said.source.kind is not SourceKind.BASELINE:
            return []
        vpc = vpc_of(subject, reader)
        return [
            aim
            for table, one in kept(said.document, "route_tables").items()
            for aim in _aims(vpc.arn("route-table", table), entries(at_path(one, "routes")), reader)
        ]

    def read(self, aim: Aim, reader: StateReader) -> Reading:
        destination = cast("Item", aim.arguments["destination"])
        found = (route for route in _routes(aim.target, reader) if _destination(route) == destination)
        route = next(found, None)
        return Reading(state={"via": None if route is None else _via(route)})

    def problems(self, aim: Aim, live: Reading, reader: StateReader) -> Sequence[str]:
        is_there = live.state["via"] is not None
        return [] if is_there == aim.arguments["replaces"] else ["the route came or went"]

    def expected(self, aim: Aim, state: Item) -> Item:
        return {"via": aim.arguments["via"]}

    def undo(self, aim: Aim, state: Item) -> Item | None:
        return {**aim.arguments, "via": state["via"], "replaces": aim.arguments["via"] is not None}

    def calls(self, aim: Aim, token: str | None) -> tuple[ApiCall, ...]:
        via, destination = cast("Item | None", aim.arguments["via"]), cast("Item", aim.arguments["destination"])
        place: Item = {"RouteTableId": id_in(aim.target), **destination}
        if via is None:
            return (_call("DeleteRoute", "delete_route", aim.target, place),)
        if aim.arguments["replaces"]:
            return (_call("ReplaceRoute", "replace_route", aim.target, {**place, **via}),)
        return (_call("CreateRoute", "create_route", aim.target, {**place, **via}),)

    def touches(self, aim: Aim, reader: StateReader) -> Sequence[str]:
        """The table, and every subnet that uses it."""
        found = reader.read("ec2", "describe_route_tables", RouteTableIds=[id_in(aim.target)])["RouteTables"]
        subnets = [name for table in entries(found) for name in subnets_of(table)]
        return [aim.target, *(ec2_arn(aim.target, "subnet", name) for name in subnets)]


def _aims(table: str, good: Sequence[Item], reader: StateReader) -> Iterator[Aim]:
    """Routes that are lost or lead elsewhere. Routes that came since block nothing and stay."""
    live = {tuple(_destination(route).items()): _via(route) for route in _routes(table, reader)}
    for route in good:
        destination, via = _destination(route), _via(route)
        now = live.get(tuple(destination.items()))
        if via and destination and now != via:
            said: Item = {"destination": destination, "via": via, "replaces": now is not None}
            yield Aim(target=table, arguments=said)


def _routes(table: str, reader: StateReader) -> list[Item]:
    found = entries(reader.read("ec2", "describe_route_tables", RouteTableIds=[id_in(table)])["RouteTables"])
    if not found:
        raise NotFound(f"there is no route table {id_in(table)}", hint="propose again")
    return entries(found[0].get("Routes"))


def _destination(route: Item) -> dict[str, str]:
    return {name: str(route[name]) for name in _DESTINATIONS if route.get(name)}


def _via(route: Item) -> dict[str, str]:
    """The one thing a route leads to; of several names for it, the first."""
    found = [name for name in _TARGETS if route.get(name)][:1]
    return {name: str(route[name]) for name in found}


def _call(action: str, operation: str, table: str, parameters: Item) -> ApiCall:
    return ApiCall(service="ec2", operation=operation, parameters=parameters, action=f"ec2:{action}", resource=table)
