"""Requests to the EKS node monitoring agent: objects of kind NodeDiagnostic, named as their node."""

from typing import Any

from affidavit.adapters.kubernetes.api import TIMES, ClusterApis, cluster_errors
from affidavit.adapters.kubernetes.object_models import CaptureState, DiagnosticShape
from affidavit.errors import NotFound
from affidavit.ports.cluster.api_connection import ClusterPlace
from affidavit.ports.cluster.log_captures import LogCapture

_KIND = {"group": "eks.amazonaws.com", "version": "v1alpha1", "plural": "nodediagnostics"}
_TOKEN = "affidavit/collection-token"
# The client leaves the type of these bodies out.
_JSON = {"Content-Type": "application/json"}
_ENDED_WELL = ("Success", "SuccessWithErrors")


class NodeDiagnosticCaptures:
    def __init__(self, apis: ClusterApis) -> None:
        self._apis = apis

    def find(self, node_name: str, *, place: ClusterPlace) -> LogCapture | None:
        """None also where nobody installed the agent: the API answers the same, and `ask` will tell."""
        try:
            with cluster_errors(f"NodeDiagnostic {node_name}"):
                found = self._custom(place).get_cluster_custom_object(**_KIND, name=node_name, **TIMES)
                return _capture(DiagnosticShape.model_validate(found))
        except NotFound:
            return None

    def ask(self, node_name: str, *, place: ClusterPlace, token: str, destination: str) -> None:
        body = {
            "apiVersion": f"{_KIND['group']}/{_KIND['version']}",
            "kind": "NodeDiagnostic",
            "metadata": {"name": node_name, "annotations": {_TOKEN: token}},
            "spec": {"logCapture": {"categories": ["All"], "destination": destination}},
        }
        with cluster_errors(f"NodeDiagnostic {node_name}"):
            self._custom(place).create_cluster_custom_object(**_KIND, body=body, _headers=_JSON, **TIMES)

    def forget(self, capture: LogCapture, *, place: ClusterPlace) -> None:
        this_one = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": capture.uid}}
        try:
            with cluster_errors(f"NodeDiagnostic {capture.node_name}"):
                self._custom(place).delete_cluster_custom_object(
                    **_KIND, name=capture.node_name, body=this_one, _headers=_JSON, **TIMES
                )
        except NotFound:
            return

    def _custom(self, place: ClusterPlace) -> Any:
        return self._apis.of(place).custom


def _capture(found: DiagnosticShape) -> LogCapture:
    state = next((one.state for one in found.status.capture_statuses if one.type == "Log"), CaptureState())
    ended = state.completed
    return LogCapture(
        node_name=found.metadata.name,
        uid=found.metadata.uid,
        token=found.metadata.annotations.get(_TOKEN, ""),
        has_ended=ended is not None,
        has_succeeded=ended is not None and ended.reason in _ENDED_WELL,
        says=_word(state),
        finished_at=ended.finished_at if ended is not None else None,
    )


def _word(state: CaptureState) -> str:
    if state.completed is not None:
        return f"{state.completed.reason}: {state.completed.message[:300]}"
    return "the agent collects" if state.running is not None else "the agent has not begun"
