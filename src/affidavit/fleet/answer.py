"""The answer to a question about the fleet. A question that no index covers is an error, not an empty answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from affidavit.errors import NotFound
from affidavit.fleet.sql_with_values import FleetScope


@dataclass(frozen=True, kw_only=True)
class FleetAnswer:
    """`indexes` is the number of indexes the answer rests on; None when nobody counted them."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    indexes: int | None = None


def check_coverage(indexes: int, scope: FleetScope, place: str) -> None:
    """Raises NotFound when there is no index: an empty answer would read like a healthy fleet."""
    if indexes:
        return
    whose = f" of {', '.join(scope.clusters)}" if scope.clusters else ""
    when = f" since {scope.since}" if scope.since is not None else ""
    raise NotFound(
        f"no index{whose} is published {place}{when}",
        hint="check the name, or ingest bundles first: affidavit fleet add",
    )
