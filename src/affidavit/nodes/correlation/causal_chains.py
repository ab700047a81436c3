"""Potential causal chains, kept as data: which trouble tends to follow which."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from affidavit.evidence.confidence import Level
from affidavit.evidence.finding import Finding
from affidavit.nodes.correlation.timeline import Cluster, Event
from affidavit.yaml_loading import load_yaml


class ChainStep(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    signals: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()

    def is_shown_by(self, finding: Finding) -> bool:
        return finding.signal in self.signals or finding.rule in self.rules


class Chain(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    steps: Annotated[tuple[ChainStep, ...], Field(min_length=2)]


@dataclass(frozen=True, kw_only=True)
class PotentialChain:
    """`chain` names the steps that were seen, in the order the chain expects them."""

    chain: tuple[str, ...]
    confidence: Level
    cluster_id: str
    finding_ids: tuple[str, ...]


@cache
def known_chains() -> tuple[Chain, ...]:
    text = files("affidavit.nodes.correlation").joinpath("chains.yaml").read_text("utf-8")
    loaded = load_yaml(text)
    return TypeAdapter(tuple[Chain, ...]).validate_python(loaded)


def potential_chains(
    clusters: Sequence[Cluster], events: Mapping[str, Event], findings: Mapping[str, Finding]
) -> list[PotentialChain]:
    """At least two steps of a chain inside one cluster, the likeliest first."""
    found = [
        potential
        for cluster in clusters
        for chain in known_chains()
        if (potential := _in_cluster(chain, cluster, events, findings)) is not None
    ]
    levels = list(Level)
    ordered = sorted(found, key=lambda entry: (levels.index(entry.confidence), entry.cluster_id, -len(entry.chain)))
    # Chains that differ only in a step nobody saw are one: the first is the likeliest.
    likeliest: dict[tuple[object, ...], PotentialChain] = {}
    for entry in ordered:
        likeliest.setdefault((entry.chain, entry.cluster_id, entry.finding_ids), entry)
    return list(likeliest.values())


def _in_cluster(
    chain: Chain, cluster: Cluster, events: Mapping[str, Event], findings: Mapping[str, Finding]
) -> PotentialChain | None:
    seen: list[tuple[ChainStep, Event]] = []
    taken: set[str] = set()
    for step in chain.steps:
        shown = [events[name] for name in cluster.events if name not in taken and step.is_shown_by(findings[name])]
        if shown:
            seen.append((step, shown[0]))
            # Copies of the same line, and everything of the same rule, belong to this step too.
            taken.update(event.finding_id for event in shown)
    if len(seen) < 2:
        return None
    return PotentialChain(
        chain=tuple(step.name for step, _ in seen),
        confidence=_confidence(chain, [event for _, event in seen]),
        cluster_id=cluster.cluster_id,
        finding_ids=tuple(event.finding_id for _, event in seen),
    )


def _confidence(chain: Chain, seen: list[Event]) -> Level:
    is_in_order = all(left.timestamp <= right.timestamp for left, right in pairwise(seen))
    if not is_in_order:
        return Level.LOW
    return Level.HIGH if len(seen) == len(chain.steps) else Level.MEDIUM
