"""Loads the causal graph. It says which condition a finding shows, and which conditions can cause which."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, cached_property
from importlib.resources import files

from pydantic import TypeAdapter, ValidationError

from affidavit.errors import InputRefused
from affidavit.evidence.finding import Finding
from affidavit.matching.yaml_cache import read_yaml
from affidavit.verdict.node_condition import CauseRole, Condition, ShownBy

_CONDITIONS = TypeAdapter(tuple[Condition, ...])
# The most unseen steps between a cause and an effect. With more, one of them would have been seen.
MOST_UNSEEN = 1


@dataclass(frozen=True, kw_only=True)
class CausalPath:
    """How one condition causes another: directly, or through conditions in between."""

    cause: str
    effect: str
    how: str
    within: timedelta
    same: tuple[str, ...]
    weak: bool
    through: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CausalGraph:
    conditions: Mapping[str, Condition]

    def shown_by(
        self, finding: Finding, line: str, seen_rules: Iterable[tuple[str, str]]
    ) -> list[tuple[Condition, int]]:
        """The condition that the finding shows, with the position of the sign that matched; empty when there is none.

        A sign that names the rule goes before one that names its signal family. `seen_rules` are rules and the
        components they found something in.
        """
        seen = set(seen_rules)
        for name in (finding.rule, finding.signal):
            fitting = [
                (condition, place)
                for condition, place, sign in self._signs.get(name, ())
                if sign.fits(finding, line) and _holds(sign, finding, seen)
            ]
            if fitting:
                # The first condition that claims the rule wins.
                return fitting[:1]
        return []

    def paths_from(self, cause: str) -> tuple[CausalPath, ...]:
        return self._paths[cause]

    def causes_of(self, effect: str) -> tuple[CausalPath, ...]:
        """Direct causes, strong before weak."""
        found = [path for paths in self._paths.values() for path in paths if path.effect == effect and not path.through]
        return tuple(sorted(found, key=lambda path: path.weak))

    @cached_property
    def _signs(self) -> dict[str, list[tuple[Condition, int, ShownBy]]]:
        signs: dict[str, list[tuple[Condition, int, ShownBy]]] = {}
        for condition in self.conditions.values():
            for place, sign in enumerate(condition.shown_by):
                signs.setdefault(sign.by, []).append((condition, place, sign))
        # Narrower signs first: one that asks for a text, a name or a component is more specific.
        return {by: sorted(found, key=lambda entry: not _is_narrow(entry[2])) for by, found in signs.items()}

    @cached_property
    def _paths(self) -> dict[str, tuple[CausalPath, ...]]:
        return {cause: tuple(self._reach(cause)) for cause in self.conditions}

    def _reach(self, cause: str) -> Iterator[CausalPath]:
        """The shortest path to every condition that `cause` can cause. A weak step ends a path.

        A setting or a counter only counts for what is seen to follow from it, so nothing unseen may stand in between.
        """
        is_state = self.conditions[cause].role is CauseRole.STATE
        reached: dict[str, CausalPath] = {}
        ends = [path for path in self._direct(cause) if path.effect != cause]
        while ends:
            for path in ends:
                reached.setdefault(path.effect, path)
            ends = [
                _joined(path, step)
                for path in ends
                if not path.weak
                and not is_state
                and len(path.through) < MOST_UNSEEN
                and self.conditions[path.effect].role is CauseRole.EFFECT
                for step in self._direct(path.effect)
                if not step.weak and step.effect not in reached and step.effect != cause
            ]
        yield from reached.values()

    def _direct(self, cause: str) -> list[CausalPath]:
        return [
            CausalPath(
                cause=cause, effect=edge.effect, how=edge.how, within=edge.within, same=edge.same, weak=edge.weak
            )
            for edge in self.conditions[cause].causes
        ]


def _holds(sign: ShownBy, finding: Finding, seen: Collection[tuple[str, str]]) -> bool:
    """Whether what else was found lets the sign count."""
    if any((rule, finding.component) in seen for rule in sign.unless_seen):
        return False
    return not sign.when_seen or any(rule in sign.when_seen for rule, _ in seen)


def _is_narrow(sign: ShownBy) -> bool:
    return bool(sign.says or sign.where or sign.component or sign.unless_seen or sign.when_seen)


def _joined(path: CausalPath, step: CausalPath) -> CausalPath:
    return CausalPath(
        cause=path.cause,
        effect=step.effect,
        how=f"{path.how} {step.how}",
        within=path.within + step.within,
        same=tuple(dict.fromkeys((*path.same, *step.same))),
        weak=False,
        through=(*path.through, path.effect),
    )


@cache
def load_graph() -> CausalGraph:
    """The built-in graph. Raises InputRefused when it contradicts itself or a sample misbehaves."""
    folder = files("affidavit.verdict").joinpath("graph")
    found = sorted((file for file in folder.iterdir() if file.name.endswith(".yaml")), key=lambda file: file.name)
    conditions: list[Condition] = []
    for file, parsed in zip(found, read_yaml(found), strict=True):
        conditions.extend(_valid(file.name, parsed.document))
    return checked_graph(conditions)


def checked_graph(conditions: Sequence[Condition]) -> CausalGraph:
    """Raises InputRefused for an id given twice or an edge to nowhere."""
    by_id: dict[str, Condition] = {}
    for condition in conditions:
        if condition.id in by_id:
            raise InputRefused(f"the causal graph has {condition.id} twice", hint="join the two entries")
        by_id[condition.id] = condition
    for condition in conditions:
        if lost := [edge.effect for edge in condition.causes if edge.effect not in by_id]:
            raise InputRefused(
                f"{condition.id} is said to cause {', '.join(lost)}, which the causal graph does not have",
                hint="name a condition of verdict/graph",
            )
    return CausalGraph(conditions=by_id)


def _valid(name: str, document: object) -> tuple[Condition, ...]:
    try:
        return _CONDITIONS.validate_python(document)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputRefused(f"verdict/graph/{name}: {place}: {first['msg']}") from error
