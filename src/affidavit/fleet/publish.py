"""Adds an index to the fleet's tables. The same index always gets the same keys, so publishing twice does no harm."""

from urllib.parse import quote

from affidavit.fleet.parquet import parquet_of
from affidavit.fleet.rows import finding_rows, node_row
from affidavit.fleet.schema import FINDINGS, NODES, UNKNOWN_CLUSTER, FleetTable
from affidavit.nodes.library.indexed_bundles import IndexMarker, Library

PURPOSE = "fleet"


def publish(library: Library, marker: IndexMarker) -> bool:
    """Returns whether anything was written. The node's row is written last: where it is, its findings are too."""
    key = fleet_key(NODES, marker)
    if library.objects.head(key) is not None:
        return False
    index = library.index(marker)
    findings = finding_rows(marker, index)
    if findings:
        library.objects.put(fleet_key(FINDINGS, marker), parquet_of(FINDINGS, findings), purpose=PURPOSE)
    library.objects.put(key, parquet_of(NODES, [node_row(marker, index)]), purpose=PURPOSE)
    return True


def fleet_key(table: FleetTable, marker: IndexMarker) -> str:
    cluster = quote(marker.cluster or UNKNOWN_CLUSTER, safe="")
    folder = f"{table.prefix}/cluster={cluster}/dt={marker.indexed_at:%Y-%m-%d}"
    return f"{folder}/{marker.instance_id}_{marker.index_id}.parquet"
