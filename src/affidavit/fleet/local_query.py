"""Asks the fleet's tables in a local folder, with DuckDB."""

from pathlib import Path

from affidavit.fleet.answer import FleetAnswer, check_coverage
from affidavit.fleet.duckdb_connection import connect, sql_errors
from affidavit.fleet.schema import FINDINGS, NODES, PARTITIONS, PREFIX, FleetTable
from affidavit.fleet.sql_check import check
from affidavit.fleet.sql_with_values import FleetScope, Inquiry


def ask_folder(objects: Path, inquiry: Inquiry) -> FleetAnswer:
    """`objects` is the root of an object store in a directory. Raises NotFound when the scope holds no index."""
    check(inquiry)
    with connect() as engine:
        for table in (FINDINGS, NODES):
            engine.execute(f"CREATE VIEW {table.name} AS {_source(objects, table)}")
        # From here on DuckDB can read nothing outside this folder, whatever the question says.
        engine.execute(
            f"SET allowed_directories = ['{_quoted(str(objects / PREFIX))}/']; SET enable_external_access = false"
        )
        scope = inquiry.scope or FleetScope()
        counted = scope.counted()
        (indexes,) = engine.execute(counted.sql, counted.values).fetchone() or (0,)
        check_coverage(indexes, scope, f"below {objects / PREFIX}")
        with sql_errors():
            found = engine.execute(inquiry.sql, inquiry.values)
            rows = found.fetchall()
        columns = tuple(str(each[0]) for each in found.description or ())
        return FleetAnswer(columns=columns, rows=rows, indexes=indexes)


def _source(objects: Path, table: FleetTable) -> str:
    folder = objects / table.prefix
    names = [column.name for column in (*table.columns, *PARTITIONS)]
    if not any(folder.rglob("*.parquet")):
        kinds = ", ".join(f"NULL::{column.kind} AS {column.name}" for column in (*table.columns, *PARTITIONS))
        return f"SELECT {kinds} WHERE false"
    types = ", ".join(f"'{column.name}': {column.kind}" for column in PARTITIONS)
    return (
        f"SELECT {', '.join(names)} FROM read_parquet('{_quoted(str(folder))}/*/*/*.parquet', "
        f"hive_partitioning = true, hive_types = {{{types}}})"
    )


def _quoted(text: str) -> str:
    return text.replace("'", "''")
