"""What an incident is about: one Lambda function or one node."""

from dataclasses import dataclass
from enum import StrEnum


class SubjectKind(StrEnum):
    FUNCTION = "function"
    NODE = "node"

    @property
    def plural(self) -> str:
        return f"{self.value}s"


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """`id` is the name by which AWS knows it: of a function its bare name, of a node its instance id."""

    kind: SubjectKind
    id: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"
