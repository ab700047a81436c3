"""A second opinion on repairs. It names positions in a list and objections, and has no way to say a value."""

from collections.abc import Sequence
from typing import Protocol


class RepairAdviser(Protocol):
    """Who has no opinion, or could not be asked, answers with nothing. Nothing is raised: repairs work without."""

    def chosen(self, cause: str, candidates: Sequence[str]) -> Sequence[int]:
        """Which of the candidates to plan, in which order, by their positions."""
        ...

    def objections(self, plan: str) -> Sequence[str]:
        """What speaks against a plan, each a sentence."""
        ...
