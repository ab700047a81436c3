"""A question and its values. The engine binds them, so that none becomes part of the SQL."""

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    """Which part of the fleet is asked; nothing named: all of it. `since` is the first day of indexing that counts."""

    clusters: tuple[str, ...] = ()
    since: date | None = None

    @property
    def values(self) -> tuple[str, ...]:
        return (*self.clusters, *((self.since.isoformat(),) if self.since is not None else ()))

    def where(self, table: str) -> str:
        """Equality with named values: Athena's projection of `cluster` understands nothing else."""
        conditions: list[str] = []
        if self.clusters:
            conditions.append(f"{table}.cluster IN ({', '.join('?' for _ in self.clusters)})")
        if self.since is not None:
            conditions.append(f"{table}.dt >= ?")
        return f" WHERE {' AND '.join(conditions)}" if conditions else ""

    def counted(self) -> "Inquiry":
        """How many indexes an answer in this scope rests on."""
        return Inquiry(sql=f"SELECT count(*) AS indexes FROM nodes n{self.where('n')}", values=self.values)


@dataclass(frozen=True, kw_only=True, slots=True)
class Inquiry:
    """`values` are for the question marks in `sql`, in their order. SQL of one's own has no scope that we know."""

    sql: str
    values: tuple[str, ...] = ()
    scope: Scope | None = None
