"""The two tables of the fleet. Their columns are a contract with whoever asks in SQL: add, never change.

Partitions are Hive's: `fleet/findings/cluster=<name>/dt=<day of indexing>/<index>.parquet`, and `fleet/nodes` alike.
Text of logs is not in them: it leaves only through the tools, which redact. `full_key`, bytes and digest say where.
"""

from dataclasses import dataclass
from typing import Final

PREFIX: Final = "fleet"
UNKNOWN_CLUSTER: Final = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    name: str
    kind: str
    """As both DuckDB and Athena call it."""
    means: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FleetTable:
    name: str
    about: str
    columns: tuple[Column, ...]

    @property
    def prefix(self) -> str:
        return f"{PREFIX}/{self.name}"


def _columns(*rows: tuple[str, str, str]) -> tuple[Column, ...]:
    return tuple(Column(name=name, kind=kind, means=means) for name, kind, means in rows)


PARTITIONS: Final = _columns(
    ("cluster", "VARCHAR", "the node's cluster, or `unknown`"),
    ("dt", "VARCHAR", "day of indexing in UTC, as 2026-01-31"),
)
FINDINGS: Final = FleetTable(
    name="findings",
    about="One row per finding of an index.",
    columns=_columns(
        ("instance_id", "VARCHAR", "the node"),
        ("index_id", "VARCHAR", "pin it when you cite `finding_id`"),
        ("indexed_at", "TIMESTAMP", "when the bundle was indexed, UTC"),
        ("finding_id", "VARCHAR", "cite it"),
        ("rule", "VARCHAR", "the rule or check"),
        ("severity", "VARCHAR", "critical, high, medium, low or info"),
        ("pattern", "VARCHAR", "what was found, the same on every node"),
        ("component", "VARCHAR", "who wrote the line"),
        ("signal", "VARCHAR", "the fault it points to"),
        ("occurrences", "BIGINT", "how often"),
        ("first_seen", "TIMESTAMP", "null when the lines carry no time"),
        ("last_seen", "TIMESTAMP", "null when the lines carry no time"),
        ("source_file", "VARCHAR", "file in the bundle"),
        ("full_key", "VARCHAR", "object that holds the line"),
        ("line", "BIGINT", "its number"),
        ("start_byte", "BIGINT", "where it begins"),
        ("end_byte", "BIGINT", "where it ends"),
        ("sha256", "VARCHAR", "of these bytes"),
    ),
)
NODES: Final = FleetTable(
    name="nodes",
    about="One row per index, even if nothing was found: how much of the bundle was read.",
    columns=_columns(
        ("instance_id", "VARCHAR", "the node"),
        ("index_id", "VARCHAR", "the index"),
        ("bundle_id", "VARCHAR", "the same for the same content"),
        ("indexed_at", "TIMESTAMP", "when, UTC"),
        ("collected_at", "TIMESTAMP", "null when the bundle does not say"),
        ("rules_version", "VARCHAR", "rules it was read with"),
        ("files_scanned", "BIGINT", "files read in full"),
        ("total_files", "BIGINT", "files in the bundle"),
        ("coverage_pct", "DOUBLE", "share of files read in full, of 100"),
        ("gaps", "BIGINT", "things that could not be looked at"),
        ("critical", "BIGINT", "findings so severe"),
        ("high", "BIGINT", "findings so severe"),
        ("medium", "BIGINT", "findings so severe"),
        ("low", "BIGINT", "findings so severe"),
        ("info", "BIGINT", "findings so severe"),
    ),
)
TABLES: Final = (FINDINGS, NODES)
