"""Decides which possible causes count: seen, early enough, about the same thing, and not refuted."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from affidavit.verdict.causal_graph import CausalGraph, CausalPath
from affidavit.verdict.cause_before_effect import NodeClocks, can_precede, fell_silent_together
from affidavit.verdict.node_condition import CauseRole
from affidavit.verdict.seen_conditions import SeenCondition, lines_by_file

# When at least this share of an effect's lines also belongs to the cause, the lines name their own cause.
_MOSTLY = 0.5


@dataclass(frozen=True, kw_only=True)
class AcceptedLink:
    cause: SeenCondition
    effect: SeenCondition
    path: CausalPath
    same_lines: bool
    """The effect's own lines name the cause."""


def accepted_links(
    seen: Mapping[str, SeenCondition], graph: CausalGraph, clocks: NodeClocks, refuted: Collection[str]
) -> list[AcceptedLink]:
    """Links that count, without those that a better one replaces."""
    possible = [
        link
        for cause in seen.values()
        if not cause.is_harmless and cause.id in graph.conditions and cause.id not in refuted
        for path in graph.paths_from(cause.id)
        if path.effect in seen
        if (link := _link(cause, seen[path.effect], path, clocks, seen)) is not None
    ]
    by_effect: dict[str, list[AcceptedLink]] = {}
    for link in _without_mutual_names(_without_idle_effects(possible)):
        by_effect.setdefault(link.effect.id, []).append(link)
    return [link for links in by_effect.values() for link in _best(links)]


def _without_idle_effects(links: list[AcceptedLink]) -> list[AcceptedLink]:
    """Without links from effects that are too slight to be told and that nothing explains: what they would explain
    would be told nowhere."""
    explained = {link.effect.id for link in links}
    kept = [link for link in links if not _is_idle(link.cause) or link.cause.id in explained]
    return kept if len(kept) == len(links) else _without_idle_effects(kept)


def _is_idle(cause: SeenCondition) -> bool:
    return cause.condition.role is CauseRole.EFFECT and not cause.worth_explaining


def _without_mutual_names(links: list[AcceptedLink]) -> list[AcceptedLink]:
    """Lines that are of both sides say nothing on which of two conditions came first, if each can cause the other."""
    named = {(link.cause.id, link.effect.id) for link in links if link.same_lines}
    return [
        replace(link, same_lines=link.same_lines and (link.effect.id, link.cause.id) not in named) for link in links
    ]


def _link(
    cause: SeenCondition,
    effect: SeenCondition,
    path: CausalPath,
    clocks: NodeClocks,
    seen: Mapping[str, SeenCondition],
) -> AcceptedLink | None:
    if effect.is_harmless or (
        effect.is_open and not cause.holds_on and not fell_silent_together(cause, effect, clocks)
    ):
        return None
    # When a condition in between is seen, its two shorter links are used instead.
    if any(step in seen and not seen[step].is_harmless for step in path.through):
        return None
    if not _agree(cause, effect, path):
        return None
    # A line names its cause only where one step leads from it to what the line is about.
    same_lines = not path.through and _shares_lines(cause, effect)
    if not same_lines and not can_precede(cause, effect, path, clocks):
        return None
    return AcceptedLink(cause=cause, effect=effect, path=path, same_lines=same_lines)


def _agree(cause: SeenCondition, effect: SeenCondition, path: CausalPath) -> bool:
    for kind in path.same:
        left, right = cause.names(kind), effect.names(kind)
        if left and right and not left & right:
            return False
    return True


def _shares_lines(cause: SeenCondition, effect: SeenCondition) -> bool:
    """Whether most lines of some finding of the effect are lines of the cause as well."""
    if not cause.lines.keys() & effect.lines.keys():
        return False
    return any(
        file in cause.lines and lines and len(lines & cause.lines[file]) >= _MOSTLY * len(lines)
        for finding in effect.worth_explaining or effect.findings
        for file, lines in lines_by_file(finding).items()
    )


def _best(links: list[AcceptedLink]) -> list[AcceptedLink]:
    """Links whose lines name the cause, if any; else direct ones, else usual ones, else rare ones."""
    named = [link for link in links if link.same_lines]
    direct = [link for link in links if not link.path.weak and not link.path.through]
    usual = [link for link in links if not link.path.weak]
    return named or direct or usual or links
