"""Writes the statements that create the fleet's tables in Athena. Partitions are projected: a new day needs none."""

from typing import Final

from affidavit.fleet.schema import TABLES, FleetTable

# Athena creates tables with Hive's type names.
_KINDS: Final = {"VARCHAR": "string", "BIGINT": "bigint", "DOUBLE": "double", "TIMESTAMP": "timestamp"}


def table_statements(bucket: str, *, since: str = "2026-01-01") -> list[str]:
    """Run them once. `cluster` is injected, so every question to Athena must name its clusters."""
    return [_statement(table, bucket, since) for table in TABLES]


def _statement(table: FleetTable, bucket: str, since: str) -> str:
    columns = ",\n  ".join(f"{column.name} {_KINDS[column.kind]}" for column in table.columns)
    place = f"s3://{bucket}/{table.prefix}/"
    return f"""CREATE EXTERNAL TABLE IF NOT EXISTS {table.name} (
  {columns}
)
PARTITIONED BY (cluster string, dt string)
STORED AS PARQUET
LOCATION '{place}'
TBLPROPERTIES (
  'projection.enabled' = 'true',
  'projection.cluster.type' = 'injected',
  'projection.dt.type' = 'date',
  'projection.dt.format' = 'yyyy-MM-dd',
  'projection.dt.range' = '{since},NOW',
  'storage.location.template' = '{place}cluster=${{cluster}}/dt=${{dt}}'
)"""
