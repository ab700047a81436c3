"""Objects of kind NodeDiagnostic, checked as their definition says, and the agent that carries them out.

The agent packs the node's logs and puts them to the address it was given. It can be told to fail, or to be gone.
"""

import threading
import urllib.request
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from affidavit.sandbox.account.node_archives import archive_of
from affidavit.sandbox.account.nodes import Fleet
from affidavit.sandbox.kubernetes.cluster_objects import KubeObject

API_VERSION = "eks.amazonaws.com/v1alpha1"
_NAME = r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$"

OnPut = Callable[[str], None]
"""The address that was put to, without its query: what the bucket's event would start."""


class AgentConduct(StrEnum):
    WORKS = "works"
    FAILS = "fails"
    IS_SILENT = "is silent"
    """It sees the object and never answers."""


class ObjectRefused(Exception):
    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status, self.reason = status, reason


@dataclass(slots=True)
class Diagnostics:
    fleet: Fleet
    on_put: OnPut | None = None
    conducts: dict[str, AgentConduct] = field(default_factory=dict[str, AgentConduct])
    """By instance."""
    created: int = 0
    _objects: dict[str, KubeObject] = field(default_factory=dict[str, KubeObject])
    _version: int = 100
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def version(self) -> int:
        return self._version

    def all(self) -> list[KubeObject]:
        with self._lock:
            return list(self._objects.values())

    def get(self, name: str) -> KubeObject:
        with self._lock:
            if name not in self._objects:
                raise ObjectRefused(404, "NotFound", f'nodediagnostics.eks.amazonaws.com "{name}" not found')
            return self._objects[name]

    def create(self, body: object) -> KubeObject:
        name, given = _checked(body), cast("KubeObject", body)
        with self._lock:
            if name in self._objects:
                raise ObjectRefused(409, "AlreadyExists", f'nodediagnostics.eks.amazonaws.com "{name}" already exists')
            self._version += 1
            self.created += 1
            stamped = {
                "uid": str(uuid.uuid4()),
                "resourceVersion": str(self._version),
                "generation": 1,
                "creationTimestamp": _now(),
            }
            made: KubeObject = {**given, "metadata": {**given["metadata"], **stamped}}
            self._objects[name] = made
        threading.Thread(target=self._carry_out, args=(name,), daemon=True).start()
        return made

    def delete(self, name: str, uid: str | None) -> KubeObject:
        """`uid` is that of the object that is meant; None: whichever has the name."""
        with self._lock:
            found = self.get(name)
            if uid is not None and uid != found["metadata"]["uid"]:
                raise ObjectRefused(409, "Conflict", "the UID in the precondition does not match")
            del self._objects[name]
            return found

    def _carry_out(self, name: str) -> None:
        node = next((node for node in self.fleet.nodes if node.name == name), None)
        if node is None or node.state != "running":
            return  # no agent runs there
        conduct = self.conducts.get(node.instance_id, AgentConduct.WORKS)
        began = _now()
        self._status(name, {"running": {"startedAt": began}})
        match conduct:
            case AgentConduct.IS_SILENT:
                return
            case AgentConduct.FAILS:
                self._end(name, began, "Failure", "fatal error during log collection process: scripted")
            case AgentConduct.WORKS:
                self._upload(name, began, archive_of(node))

    def _upload(self, name: str, began: str, data: bytes) -> None:
        address = str(self.get(name)["spec"]["logCapture"]["destination"])
        try:
            request = urllib.request.Request(address, data=data, method="PUT")
            urllib.request.urlopen(request, timeout=30).close()
        except OSError as error:
            self._end(name, began, "Failure", f"fatal error during log upload process{error}")
            return
        self._end(name, began, "Success", "successfully uploaded logs with no errors")
        if self.on_put is not None:
            self.on_put(address.partition("?")[0])

    def _end(self, name: str, began: str, reason: str, message: str) -> None:
        ended = {"reason": reason, "message": message, "startedAt": began, "finishedAt": _now()}
        self._status(name, {"completed": ended})

    def _status(self, name: str, state: KubeObject) -> None:
        with self._lock:
            if name in self._objects:
                self._version += 1
                found = self._objects[name]
                metadata = {**found["metadata"], "resourceVersion": str(self._version)}
                status = {"captureStatuses": [{"type": "Log", "state": state}]}
                self._objects[name] = {**found, "metadata": metadata, "status": status}


def _checked(body: object) -> str:
    """The name. As the API server checks it: version, kind, name, and the fields of the definition."""
    try:
        return _Wanted.model_validate(body).metadata.name
    except ValidationError as error:
        first = error.errors()[0]
        where, status = ".".join(map(str, first["loc"])), 400 if first["loc"][:1] in _HEADS else 422
        reason = "BadRequest" if status == 400 else "Invalid"
        raise ObjectRefused(status, reason, f"{where}: {first['msg']}") from error


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Named(_Strict):
    name: str = Field(pattern=_NAME)
    annotations: dict[str, str] = Field(default_factory=dict[str, str])
    labels: dict[str, str] = Field(default_factory=dict[str, str])


class _LogWish(_Strict):
    destination: str
    categories: list[Literal["Base", "Device", "Networking", "Runtime", "System", "All"]] = Field(default=["All"])


class _WantedSpec(_Strict):
    logCapture: _LogWish  # noqa: N815 - as the API writes it


class _Wanted(_Strict):
    apiVersion: Literal["eks.amazonaws.com/v1alpha1"]  # noqa: N815 - as the API writes it
    kind: Literal["NodeDiagnostic"]
    metadata: _Named
    spec: _WantedSpec


_HEADS = (("apiVersion",), ("kind",), ())


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
