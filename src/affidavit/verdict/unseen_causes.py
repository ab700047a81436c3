"""Lists causes that would explain an effect but are not seen, and where each would show."""

from collections.abc import Collection, Mapping

from affidavit.bundle.file_roles import glob_pattern
from affidavit.evidence.node_verdict import CandidateCause
from affidavit.verdict.causal_graph import CausalGraph
from affidavit.verdict.node_condition import CauseRole, Condition
from affidavit.verdict.seen_conditions import SeenCondition

MOST_CANDIDATES = 6
COMMAND = "run: "
# A flat bundle of Bottlerocket has files without a folder; the others have folders.
_FLAT = "journalctl.log"
# Windows alone has event logs; it has none of the other files that are looked for in a folder.
_EVENT_LOG = "system/system-eventlogs.csv"


def candidates(
    effect: SeenCondition,
    graph: CausalGraph,
    seen: Mapping[str, SeenCondition],
    facts: Mapping[str, str],
    files: Collection[str],
) -> tuple[CandidateCause, ...]:
    """Causes that could not be seen, because their files are absent, come first; then the order of the graph.

    `facts` maps an id to what was measured.
    """
    found = [
        _candidate(graph.conditions[path.cause], seen, facts, files)
        for path in graph.causes_of(effect.id)
        if graph.conditions[path.cause].role is not CauseRole.EFFECT and _can_be(graph.conditions[path.cause], files)
    ]
    usual = set(effect.condition.look_in)
    ordered = sorted(found, key=lambda each: (bool(each.speaks_against), -len(usual.intersection(each.absent))))
    return tuple(ordered[:MOST_CANDIDATES])


def _can_be(condition: Condition, files: Collection[str]) -> bool:
    """False for what only Windows shows, on another system, and for what no file of this layout shows."""
    shown = {place for place in condition.look_in if is_file(place)}
    if not shown or not files:
        return True
    return bool(absent_of(condition.look_in, files)) or any(_is_there(place, files) for place in shown)


def _is_windows(files: Collection[str]) -> bool:
    return any(file.endswith(_EVENT_LOG) for file in files)


def _candidate(
    condition: Condition, seen: Mapping[str, SeenCondition], facts: Mapping[str, str], files: Collection[str]
) -> CandidateCause:
    absent = absent_of(condition.look_in, files)
    there = [place for place in condition.look_in if is_file(place) and _is_there(place, files)]
    against: list[str] = []
    mine = seen.get(condition.id)
    denied = [facts[name] for name in (*condition.refuted_by, *condition.unlikely_by) if name in facts]
    if denied:
        against.extend(denied)
    elif mine is not None:
        against.append(f"{mine.lead.finding_id} shows it, but too late, or it was over")
    elif there:
        against.append(f"{', '.join(there)} was read and shows nothing of it")
    return CandidateCause(
        cause=condition.name,
        speaks_for=tuple(f"{place} is missing, so it could not be seen" for place in absent),
        speaks_against=tuple(against),
        look_in=condition.look_in,
        absent=absent,
    )


def absent_of(places: tuple[str, ...], files: Collection[str]) -> tuple[str, ...]:
    """Files among `places` that the bundle lacks, without names that only another layout uses."""
    is_flat = any(file.rpartition("/")[2] == _FLAT for file in files)
    named = [place for place in places if is_file(place) and not _is_there(place, files)]
    named = [place for place in named if (place == _EVENT_LOG) == _is_windows(files)]
    # A flat bundle lacks every file that other bundles have in a folder. Other bundles never have the flat names.
    return tuple(place for place in named if is_flat or "/" in place)


def is_file(place: str) -> bool:
    return not place.startswith(COMMAND)


def _is_there(place: str, files: Collection[str]) -> bool:
    pattern = glob_pattern(place)
    return any(pattern.fullmatch(file) for file in files)
