"""A fleet of a thousand nodes, made once a run."""

from pathlib import Path

import pytest

from affidavit.fleet.duckdb_connection import connect
from affidavit.fleet.schema import FINDINGS, NODES


@pytest.fixture(scope="session")
def thousand(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file a node, as the indexer leaves them. Node n shows fault n % 7; every ninth was read in part."""
    root = tmp_path_factory.mktemp("fleet")
    node = "printf('i-%017d', n) AS instance_id, printf('x%d', n) AS index_id"
    cluster = "CASE WHEN n % 4 = 0 THEN 'test' ELSE 'prod' END AS cluster, '2026-01-15' AS dt"
    when = "TIMESTAMP '2026-01-15 10:00:00'"
    rows = {
        FINDINGS: f"SELECT {node}, {when} AS indexed_at, printf('F-%03d', k) AS finding_id, 'r' AS rule, "
        f"CASE WHEN k = 0 THEN 'critical' ELSE 'low' END AS severity, "
        f"CASE WHEN k = 0 THEN printf('fault %d', n % 7) ELSE printf('noise %d', k) END AS pattern, "
        f"'kernel' AS component, 'oom' AS signal, 3::BIGINT AS occurrences, {when} AS first_seen, "
        f"{when} AS last_seen, 'f' AS source_file, "
        f"'k' AS full_key, 1::BIGINT AS line, 0::BIGINT AS start_byte, 9::BIGINT AS end_byte, 's' AS sha256, {cluster} "
        "FROM range(1000) a(n), range(20) b(k)",
        NODES: f"SELECT {node}, 'b' AS bundle_id, {when} AS indexed_at, {when} AS collected_at, '1' AS rules_version, "
        "10::BIGINT AS files_scanned, 10::BIGINT AS total_files, CASE WHEN n % 9 = 0 THEN 80.0 ELSE 100.0 END::DOUBLE "
        "AS coverage_pct, (n % 9 = 0)::BIGINT AS gaps, 1::BIGINT AS critical, 0::BIGINT AS high, 0::BIGINT AS medium, "
        f"19::BIGINT AS low, 0::BIGINT AS info, {cluster} FROM range(1000) a(n)",
    }
    with connect() as engine:
        for table, select in rows.items():
            out = root / "made" / table.name
            out.parent.mkdir(exist_ok=True)
            engine.execute(
                f"COPY (SELECT *, instance_id AS node FROM ({select})) TO '{out}' "
                "(FORMAT parquet, PARTITION_BY (cluster, dt, node))"
            )
            for file in out.glob("*/*/*/*.parquet"):
                target = root / table.prefix / file.parents[2].name / file.parents[1].name
                target.mkdir(parents=True, exist_ok=True)
                file.rename(target / f"{file.parent.name.partition('=')[2]}.parquet")
    return root
