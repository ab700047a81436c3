"""The worker nodes of the sandbox, as EC2 and EKS would tell of them, and what is wrong with each."""

import base64
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import parse_qsl, unquote, urlsplit
from xml.sax.saxutils import escape

from affidavit.evaluation.generator import Layout
from affidavit.sandbox.aws.request_routing import GatewayAnswer, GatewayRequest

REGION = "ca-central-1"
CLUSTER = "demo"


@dataclass(frozen=True, kw_only=True, slots=True)
class FleetNode:
    instance_id: str
    cluster: str = CLUSTER
    region: str = REGION
    zone: str = f"{REGION}a"
    instance_type: str = "m6i.large"
    state: str = "running"
    is_healthy: bool = True
    faults: tuple[str, ...] = ()
    """Names of the bundle generator's faults; none: a healthy node."""
    layout: Layout = Layout.AL2023
    collected_at: datetime | None = None
    """When its bundles say that they were made; None: on the day of the bundle generator."""

    @property
    def address(self) -> str:
        """Made of the whole instance id: ids that differ only in front must not share an address."""
        number = zlib.crc32(self.instance_id.encode())
        return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"

    @property
    def name(self) -> str:
        """As its kubelet registers it: the private DNS name."""
        return f"ip-{self.address.replace('.', '-')}.{self.region}.compute.internal"

    @property
    def tags(self) -> dict[str, str]:
        return {f"kubernetes.io/cluster/{self.cluster}": "owned", "eks:cluster-name": self.cluster}


DEMO_NODES = (
    FleetNode(instance_id="i-0a11ce0000000001", faults=("oom",), is_healthy=False),
    FleetNode(instance_id="i-0a11ce0000000002", zone=f"{REGION}b", faults=("cni_failure",)),
    FleetNode(instance_id="i-0a11ce0000000003", zone=f"{REGION}d", instance_type="c6i.xlarge"),
    FleetNode(instance_id="i-0a11ce0000000004", zone=f"{REGION}b", faults=("disk_pressure", "image_pull")),
)


class Fleet:
    """Nodes may come and go while the sandbox runs. Calls about anything else go to the emulator.

    `api_url` is where the API of its clusters is served; `consoles` are the serial consoles, by instance.
    """

    def __init__(self, nodes: Sequence[FleetNode] = DEMO_NODES) -> None:
        self._nodes = {node.instance_id: node for node in nodes}
        self.api_url = ""
        self.consoles: dict[str, str] = {}

    def add(self, *nodes: FleetNode) -> None:
        self._nodes = self._nodes | {node.instance_id: node for node in nodes}

    def find(self, instance_id: str) -> FleetNode | None:
        return self._nodes.get(instance_id)

    @property
    def nodes(self) -> Sequence[FleetNode]:
        return tuple(self._nodes.values())

    @property
    def clusters(self) -> frozenset[str]:
        return frozenset(node.cluster for node in self.nodes)

    def answer(self, request: GatewayRequest) -> GatewayAnswer | None:
        if request.service == "eks" and request.method == "GET":
            return self._answer_eks(request)
        return self._answer_ec2(request) if request.service == "ec2" else None

    def _answer_eks(self, request: GatewayRequest) -> GatewayAnswer | None:
        _, _, name = unquote(urlsplit(request.path).path).partition("/clusters/")
        if not any(node.cluster == name and node.region == request.region for node in self.nodes):
            return None
        cluster = {
            "name": name,
            "status": "ACTIVE",
            "version": "1.34",
            "arn": f"arn:aws:eks:::cluster/{name}",
            "endpoint": f"{self.api_url}/clusters/{name}" if self.api_url else None,
        }
        return GatewayAnswer(
            body=json.dumps({"cluster": cluster}).encode(), headers={"Content-Type": "application/json"}
        )

    def _answer_ec2(self, request: GatewayRequest) -> GatewayAnswer | None:
        asked = dict(parse_qsl(request.body.decode()))
        nodes = [node for node in self.nodes if node.region == request.region and _matches(node, asked)]
        match asked.get("Action"):
            case "DescribeInstances":
                return _unknown_instance(asked, nodes) or _xml("DescribeInstances", _reservations(nodes))
            case "DescribeInstanceStatus":
                return _unknown_instance(asked, nodes) or _xml("DescribeInstanceStatus", _statuses(nodes))
            case "GetConsoleOutput":
                named = nodes or [node for node in self.nodes if node.instance_id == asked.get("InstanceId")]
                return _unknown_console(asked, named) or _xml("GetConsoleOutput", self._console(asked["InstanceId"]))
            case _:
                return None

    def _console(self, instance_id: str) -> Iterator[str]:
        text = base64.b64encode(self.consoles.get(instance_id, "").encode()).decode()
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        yield f"<instanceId>{instance_id}</instanceId><timestamp>{at}</timestamp><output>{text}</output>"


def _matches(node: FleetNode, asked: dict[str, str]) -> bool:
    ids = _listed(asked, "InstanceId")
    filters = [
        (asked[f"Filter.{number}.Name"], _listed(asked, f"Filter.{number}.Value"))
        for number in range(1, len(asked) + 1)
        if f"Filter.{number}.Name" in asked
    ]
    return (not ids or node.instance_id in ids) and all(_passes(node, *each) for each in filters)


def _passes(node: FleetNode, name: str, values: Sequence[str]) -> bool:
    match name.partition(":"):
        case ("tag-key", _, _):
            return not set(values).isdisjoint(node.tags)
        case ("tag", _, tag):
            return node.tags.get(tag) in values
        case ("instance-state-name", _, _):
            return node.state in values
        case ("private-dns-name", _, _):
            return node.name in values
        case ("private-ip-address", _, _):
            return node.address in values
        case _:
            return False


def _listed(asked: dict[str, str], name: str) -> Sequence[str]:
    return [value for key, value in asked.items() if key.rpartition(".")[0] == name]


def _unknown_instance(asked: dict[str, str], nodes: Sequence[FleetNode]) -> GatewayAnswer | None:
    missing = set(_listed(asked, "InstanceId")) - {node.instance_id for node in nodes}
    if not missing:
        return None
    fault = f"<Error><Code>InvalidInstanceID.NotFound</Code><Message>{escape(str(sorted(missing)))}</Message></Error>"
    body = f"<Response><Errors>{fault}</Errors><RequestID>sandbox</RequestID></Response>"
    return GatewayAnswer(status=400, body=body.encode(), headers={"Content-Type": "text/xml"})


def _unknown_console(asked: dict[str, str], nodes: Sequence[FleetNode]) -> GatewayAnswer | None:
    return _unknown_instance({"InstanceId.1": asked.get("InstanceId", "")}, nodes)


def _reservations(nodes: Sequence[FleetNode]) -> Iterator[str]:
    yield "<reservationSet>"
    for node in nodes:
        tags = "".join(
            f"<item><key>{escape(key)}</key><value>{escape(value)}</value></item>" for key, value in node.tags.items()
        )
        yield (
            f"<item><reservationId>r-{node.instance_id[2:]}</reservationId><instancesSet><item>"
            f"<instanceId>{node.instance_id}</instanceId><instanceType>{node.instance_type}</instanceType>"
            f"<instanceState><code>16</code><name>{node.state}</name></instanceState>"
            f"<privateDnsName>{node.name}</privateDnsName><privateIpAddress>{node.address}</privateIpAddress>"
            f"<placement><availabilityZone>{node.zone}</availabilityZone></placement><tagSet>{tags}</tagSet>"
            "</item></instancesSet></item>"
        )
    yield "</reservationSet>"


def _statuses(nodes: Sequence[FleetNode]) -> Iterator[str]:
    yield "<instanceStatusSet>"
    for node in nodes:
        check = "not-applicable" if node.state != "running" else "ok" if node.is_healthy else "impaired"
        yield (
            f"<item><instanceId>{node.instance_id}</instanceId>"
            f"<instanceState><code>16</code><name>{node.state}</name></instanceState>"
            f"<systemStatus><status>{check}</status></systemStatus>"
            f"<instanceStatus><status>{check}</status></instanceStatus></item>"
        )
    yield "</instanceStatusSet>"


def _xml(action: str, parts: Iterator[str]) -> GatewayAnswer:
    body = f"<{action}Response><requestId>sandbox</requestId>{''.join(parts)}</{action}Response>"
    return GatewayAnswer(body=body.encode(), headers={"Content-Type": "text/xml"})
