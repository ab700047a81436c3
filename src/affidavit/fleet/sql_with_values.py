"""An SQL question and its values. The engine binds the values, so none becomes part of the SQL."""

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, kw_only=True, slots=True)
class FleetScope:
    """Which part of the fleet is asked, by default all of it. `since` is the first day of indexing that counts."""

    clusters: tuple[str, ...] = ()
    since: date | None = None

    @property
    def values(self) -> tuple[str, ...]:
        return (*self.clusters, *((self.since.isoformat(),) if self.since is not None else ()))

    def where(self, table: str) -> str:
        """Compares `cluster` with named values only: Athena's projection of it understands nothing else."""
        conditions: list[str] = []
        if self.clusters:
            conditions.append(f"{table}.cluster IN ({', '.join('?' for _ in self.clusters)})")
        if self.since is not None:
            conditions.append(f"{table}.dt >= ?")
        return f" WHERE {' AND '.join(conditions)}" if conditions else ""

    def counted(self) -> "Inquiry":
        """Asks how many indexes an answer in this scope rests on."""
        return Inquiry(sql=f"SELECT count(*) AS indexes FROM nodes n{self.where('n')}", values=self.values)


@dataclass(frozen=True, kw_only=True, slots=True)
class Inquiry:
    """`values` fill the question marks in `sql`, in order. `scope` is None for SQL that a user wrote."""

    sql: str
    values: tuple[str, ...] = ()
    scope: FleetScope | None = None
