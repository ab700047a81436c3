"""Writes rows to a Parquet file with DuckDB, which is small enough for a Lambda package."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from affidavit.fleet.duckdb_connection import connect
from affidavit.fleet.rows import Row
from affidavit.fleet.schema import FleetTable


def parquet_of(table: FleetTable, rows: Sequence[Row]) -> bytes:
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in table.columns]
    picked = ", ".join(f"unnest(?::{column.kind}[]) AS {column.name}" for column in table.columns)
    with tempfile.TemporaryDirectory() as folder, connect() as engine:
        file = Path(folder) / "rows.parquet"
        engine.execute(f"CREATE TABLE rows AS SELECT {picked}", columns)
        engine.execute(f"COPY rows TO '{file}' (FORMAT parquet, COMPRESSION zstd)")
        return file.read_bytes()
