"""Nodes, events and pods of the sandbox's cluster: what its control plane would see of each node's faults."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from affidavit.sandbox.account.nodes import FleetNode

KubeObject: TypeAlias = dict[str, Any]
_PRESSURE = {
    "disk_pressure": ("DiskPressure", "KubeletHasDiskPressure", "kubelet has disk pressure"),
    "node_oom": ("MemoryPressure", "KubeletHasInsufficientMemory", "kubelet has insufficient memory available"),
}
_NOT_READY = {
    "cni_failure": ("False", "KubeletNotReady", "container runtime network not ready: NetworkReady=false"),
    "kernel_hang": ("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."),
    "cert_expiry": ("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."),
}
_EVENTS = {
    "oom": ("Warning", "OOMKilling", "Memory cgroup out of memory: a process of a container was killed"),
    "disk_pressure": ("Warning", "EvictionThresholdMet", "Attempting to reclaim ephemeral-storage"),
    "kernel_hang": ("Normal", "NodeNotReady", "Node status is now: NodeNotReady"),
}


def node_of(node: FleetNode, *, at: datetime) -> KubeObject:
    status, reason, message = next(
        (_NOT_READY[fault] for fault in node.faults if fault in _NOT_READY),
        ("True", "KubeletReady", "kubelet is posting ready status"),
    )
    pressed = {_PRESSURE[fault][0]: _PRESSURE[fault] for fault in node.faults if fault in _PRESSURE}
    conditions = [_condition("Ready", status, reason, message, at)]
    for kind in ("MemoryPressure", "DiskPressure", "PIDPressure"):
        _, why, text = pressed.get(kind, (kind, "KubeletHasSufficient", "kubelet has no such pressure"))
        conditions.append(_condition(kind, "True" if kind in pressed else "False", why, text, at))
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": node.name,
            "uid": f"uid-{node.instance_id}",
            "labels": {"eks.amazonaws.com/nodegroup": "a"},
        },
        "spec": {"providerID": f"aws:///{node.zone}/{node.instance_id}"},
        "status": {"conditions": conditions},
    }


def events_of(node: FleetNode, *, at: datetime) -> Iterator[KubeObject]:
    for fault in node.faults:
        if fault in _EVENTS:
            kind, reason, message = _EVENTS[fault]
            yield {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": f"{node.name}.{fault}", "namespace": "default"},
                "involvedObject": {"kind": "Node", "name": node.name},
                "type": kind,
                "reason": reason,
                "message": message,
                "count": 3,
                "lastTimestamp": _time(at - timedelta(minutes=1)),
                "eventTime": None,
            }


def pods_of(node: FleetNode) -> Iterator[KubeObject]:
    is_killed = "oom" in node.faults
    yield _pod(node, "kube-system", "aws-node-x", restarts=0, reason=None)
    yield _pod(node, "shop", "orders-7d", restarts=5 if is_killed else 0, reason="OOMKilled" if is_killed else None)


def _pod(node: FleetNode, namespace: str, name: str, *, restarts: int, reason: str | None) -> KubeObject:
    state: Mapping[str, Any] = {"terminated": {"reason": reason, "exitCode": 137}} if reason else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"nodeName": node.name},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "False" if reason else "True"}],
            "containerStatuses": [{"name": "main", "restartCount": restarts, "lastState": state}],
        },
    }


def _condition(kind: str, status: str, reason: str, message: str, at: datetime) -> KubeObject:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": _time(at - timedelta(minutes=5)),
        "lastHeartbeatTime": _time(at),
    }


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
