"""Severity levels. The order of the members is the rank: `critical` is 0."""

from enum import StrEnum


class Severity(StrEnum):
    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"

    @property
    def rank(self) -> int:
        return _RANKS[self]

    def is_at_least(self, other: "Severity") -> bool:
        return self.rank <= other.rank


_RANKS = {severity: rank for rank, severity in enumerate(Severity)}

# Version 1 of the index knew three levels.
FROM_V1 = {"critical": Severity.CRITICAL, "warning": Severity.MEDIUM, "info": Severity.INFO}
