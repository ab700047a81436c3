"""The API of a cluster over HTTP: the paths, verbs and errors that Kubernetes documents, and no other.

It answers who shows a token of EKS signed with the sandbox's keys, for the cluster whose address was asked.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from affidavit.sandbox.access.keys import SandboxKeys
from affidavit.sandbox.account.nodes import Fleet, FleetNode
from affidavit.sandbox.aws.request_routing import GatewayAnswer, GatewayRequest
from affidavit.sandbox.kubernetes.cluster_objects import KubeObject, events_of, node_of, pods_of
from affidavit.sandbox.kubernetes.eks_token_check import is_let_in
from affidavit.sandbox.kubernetes.node_diagnostics import API_VERSION, Diagnostics, ObjectRefused

_DIAGNOSTICS = f"/apis/{API_VERSION}/nodediagnostics"
_LIST_OPTIONS = {"limit", "continue", "fieldSelector", "watch", "resourceVersion", "timeoutSeconds"}
# Changes that a watch can still be given; what is older is gone.
_REMEMBERED = 50


@dataclass(slots=True)
class ClusterApi:
    """`/clusters/NAME` stands before each path: one address serves every cluster of the sandbox."""

    fleet: Fleet
    keys: SandboxKeys
    diagnostics: Diagnostics
    has_agent: bool = True
    """Without: nobody installed the node monitoring agent, and its kind of object is unknown."""
    refusals: list[int] = field(default_factory=list[int])
    """Statuses that the next requests are answered with: 403, 410, 429, 500."""
    asked: list[str] = field(default_factory=list[str])

    def answer(self, request: GatewayRequest) -> GatewayAnswer:
        place = urlsplit(request.path)
        found = re.fullmatch(r"/clusters/([^/]+)(/.*)", unquote(place.path))
        try:
            if found is None:
                raise ObjectRefused(404, "NotFound", "there is no such cluster")
            if not is_let_in(request.headers.get("authorization", ""), found[1], self.keys):
                raise ObjectRefused(401, "Unauthorized", "Unauthorized")
            self.asked.append(f"{request.method} {found[2]}")
            if self.refusals:
                raise ObjectRefused(self.refusals.pop(0), "Scripted", "scripted")
            options = dict(parse_qsl(place.query, keep_blank_values=True))
            return self._routed(request, found[2], found[1], options)
        except ObjectRefused as refusal:
            return _status(refusal)

    def _routed(self, request: GatewayRequest, path: str, cluster: str, options: dict[str, str]) -> GatewayAnswer:
        if path.startswith("/apis/"):
            return self._diagnostic(request, path, options)
        if request.method != "GET":
            raise ObjectRefused(405, "MethodNotAllowed", f"{request.method} is not known here")
        nodes = [node for node in self.fleet.nodes if node.cluster == cluster and node.state == "running"]
        now = datetime.now(UTC)
        lists: Mapping[str, tuple[str, Callable[[FleetNode], Iterable[KubeObject]]]] = {
            "/api/v1/nodes": ("NodeList", lambda node: [node_of(node, at=now)]),
            "/api/v1/events": ("EventList", lambda node: events_of(node, at=now)),
            "/api/v1/pods": ("PodList", pods_of),
        }
        if path in lists:
            kind, objects = lists[path]
            return _listed(kind, [one for node in nodes for one in objects(node)], options)
        name = path.removeprefix("/api/v1/nodes/")
        node = next((node for node in nodes if path.startswith("/api/v1/nodes/") and node.name == name), None)
        if node is None:
            raise ObjectRefused(404, "NotFound", f'"{path}" not found')
        return _json(200, node_of(node, at=now))

    def _diagnostic(self, request: GatewayRequest, path: str, options: dict[str, str]) -> GatewayAnswer:
        if not self.has_agent or not path.startswith(_DIAGNOSTICS):
            raise ObjectRefused(404, "NotFound", "the server could not find the requested resource")
        name = path.removeprefix(_DIAGNOSTICS).removeprefix("/")
        match (request.method, bool(name)):
            case ("GET", True):
                return _json(200, self.diagnostics.get(name))
            case ("GET", False) if options.get("watch") in ("true", "1", "True"):
                return self._watched(options)
            case ("GET", False):
                return _listed("NodeDiagnosticList", self.diagnostics.all(), options)
            case ("POST", False):
                return _json(201, self.diagnostics.create(_body(request)))
            case ("DELETE", True):
                return _json(200, self.diagnostics.delete(name, _meant(request)))
            case _:
                raise ObjectRefused(405, "MethodNotAllowed", f"{request.method} is not known here")

    def _watched(self, options: dict[str, str]) -> GatewayAnswer:
        """What there is now, and then the end of the watch: a client watches on from the last version."""
        since = int(options.get("resourceVersion") or 0)
        if since and since < self.diagnostics.version - _REMEMBERED:
            raise ObjectRefused(410, "Expired", "too old resource version")
        newer = [one for one in self.diagnostics.all() if int(one["metadata"]["resourceVersion"]) > since]
        lines = "".join(json.dumps({"type": "ADDED", "object": one}) + "\n" for one in newer)
        return GatewayAnswer(body=lines.encode(), headers={"Content-Type": "application/json"})


def _body(request: GatewayRequest) -> Any:
    if not request.headers.get("content-type", "").startswith("application/json"):
        raise ObjectRefused(415, "UnsupportedMediaType", "the body must be JSON")
    try:
        return json.loads(request.body or b"null")
    except ValueError as error:
        raise ObjectRefused(400, "BadRequest", "the body is no JSON") from error


def _meant(request: GatewayRequest) -> str | None:
    """The uid that a deletion is conditional on."""
    options: dict[str, Any] = (_body(request) if request.body else None) or {}
    return options.get("preconditions", {}).get("uid")


def _listed(kind: str, objects: list[KubeObject], options: dict[str, str]) -> GatewayAnswer:
    if unknown := set(options) - _LIST_OPTIONS:
        raise ObjectRefused(400, "BadRequest", f"unknown option {sorted(unknown)[0]}")
    found = [one for one in objects if _is_selected(one, options.get("fieldSelector", ""))]
    after, limit = int(options.get("continue") or 0), int(options.get("limit") or 0) or len(found)
    if after > len(found):
        raise ObjectRefused(410, "Expired", "the continue token is too old")
    rest = str(after + limit) if after + limit < len(found) else ""
    metadata = {"resourceVersion": "1", **({"continue": rest} if rest else {})}
    api_version = API_VERSION if kind.startswith("NodeDiagnostic") else "v1"
    items = found[after : after + limit]
    return _json(200, {"apiVersion": api_version, "kind": kind, "metadata": metadata, "items": items})


def _is_selected(one: KubeObject, selector: str) -> bool:
    for part in filter(None, selector.split(",")):
        path, _, wanted = part.partition("=")
        value: Any = one
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] any JSON
        if value != wanted:
            return False
    return True


def _status(refusal: ObjectRefused) -> GatewayAnswer:
    body = {
        "apiVersion": "v1",
        "kind": "Status",
        "status": "Failure",
        "message": str(refusal),
        "reason": refusal.reason,
        "code": refusal.status,
    }
    return _json(refusal.status, body)


def _json(status: int, body: KubeObject) -> GatewayAnswer:
    return GatewayAnswer(status=status, body=json.dumps(body).encode(), headers={"Content-Type": "application/json"})
