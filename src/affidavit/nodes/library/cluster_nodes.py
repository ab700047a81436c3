"""Which nodes of a cluster have a bundle, kept so that no listing of every object is needed."""

from affidavit.nodes.library.indexed_bundles import IndexMarker
from affidavit.ports.table import Put, Table

_NODE = "NODE#"


def record_node(state: Table, *, cluster: str, marker: IndexMarker) -> None:
    item = {"pk": _partition(cluster), "sk": f"{_NODE}{marker.instance_id}", "instance_id": marker.instance_id}
    state.write(Put(item=item))


def recorded_nodes(state: Table, cluster: str) -> list[str]:
    return [str(item["instance_id"]) for item in state.query(_partition(cluster), sk_prefix=_NODE)]


def _partition(cluster: str) -> str:
    return f"CLUSTER#{cluster}"
