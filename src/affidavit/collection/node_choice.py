"""Chooses the nodes of a batch. The same cluster gives the same nodes, in whatever order they are listed."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from affidavit.collection.requests import MAX_NODES, SAMPLE_NODES, Strategy
from affidavit.ports.node_directory import Node


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    nodes: tuple[Node, ...]
    left_out: int
    passed_over: tuple[tuple[str, str], ...]
    """Instance ids with the reason."""


def node_limit(strategy: Strategy, max_nodes: int | None) -> int:
    return max_nodes or (SAMPLE_NODES if strategy is Strategy.SAMPLE else MAX_NODES)


def choose(nodes: Sequence[Node], strategy: Strategy, limit: int, *, cluster: str) -> Choice:
    wanted = [node for node in nodes if strategy is not Strategy.UNHEALTHY or node.is_healthy is not True]
    reasons = [
        (node, _reason_against(node, strategy, cluster)) for node in sorted(wanted, key=lambda node: node.instance_id)
    ]
    fit = [node for node, reason in reasons if reason is None]
    return Choice(
        nodes=tuple(spread(fit, limit)),
        left_out=max(0, len(fit) - limit),
        passed_over=tuple((node.instance_id, reason) for node, reason in reasons if reason is not None),
    )


def spread(nodes: Sequence[Node], count: int) -> list[Node]:
    """Takes one node at a time: the one whose zone, then whose type, was taken least so far."""
    rest, chosen = list(nodes), list[Node]()
    zones, types = Counter[str](), Counter[str]()
    while rest and len(chosen) < count:
        best = min(rest, key=lambda node: (zones[node.zone], types[node.instance_type], node.instance_id))
        rest.remove(best)
        chosen.append(best)
        zones[best.zone] += 1
        types[best.instance_type] += 1
    return chosen


def _reason_against(node: Node, strategy: Strategy, cluster: str) -> str | None:
    if node.cluster != cluster:
        return "its tags name another cluster, or several"
    if node.state != "running":
        return f"it is {node.state}"
    if strategy is Strategy.UNHEALTHY and node.is_healthy is None:
        return "nobody could say whether it is healthy"
    return None
