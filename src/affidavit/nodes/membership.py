"""Which nodes have a bundle, of a cluster and at all, kept so that no listing of every object is needed."""

from affidavit.nodes.library import IndexMarker
from affidavit.ports import Put, Table

_NODE = "NODE#"
_EVERY = "NODES"


def record_node(state: Table, *, cluster: str, marker: IndexMarker) -> None:
    item = {"pk": _partition(cluster), "sk": f"{_NODE}{marker.instance_id}", "instance_id": marker.instance_id}
    state.write(Put(item=item))


def recorded_nodes(state: Table, cluster: str) -> list[str]:
    return [str(item["instance_id"]) for item in state.query(_partition(cluster), sk_prefix=_NODE)]


def record_bundle(state: Table, marker: IndexMarker) -> None:
    """A node whose index another program wrote is not recorded: nobody told us of it."""
    state.write(Put(item={"pk": _EVERY, "sk": f"{_NODE}{marker.instance_id}", "instance_id": marker.instance_id}))


def every_node(state: Table) -> list[str]:
    """In the order of their ids."""
    return sorted(str(item["instance_id"]) for item in state.query(_EVERY, sk_prefix=_NODE))


def _partition(cluster: str) -> str:
    return f"CLUSTER#{cluster}"
