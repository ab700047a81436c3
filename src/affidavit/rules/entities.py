"""Finds names in lines: pods, devices, units, subnets, … The patterns are data in `entities.yaml`, with samples."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from affidavit.errors import InputRefused
from affidavit.evidence.finding import NamedEntity
from affidavit.yaml_loading import load_yaml

# Only the beginning of a line is searched: names are there, and a hostile line can be of any length.
SEARCHED = 2_000
NAMES_OF_A_KIND = 8
_SAME_THING = {"fsnotify": "inotify"}


class _Kind(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Annotated[str, Field(pattern=r"^[a-z]+$")]
    means: Annotated[str, Field(min_length=6)]
    find: Annotated[tuple[str, ...], Field(min_length=1)]
    samples: Annotated[dict[str, dict[str, str]], Field(min_length=1)]


@dataclass(frozen=True, kw_only=True)
class EntityPatterns:
    patterns: tuple[re.Pattern[str], ...]

    def names(self, lines: Iterable[str]) -> tuple[NamedEntity, ...]:
        """Each name once, in the order of the lines, and a limited number of each kind."""
        found: dict[str, dict[str, None]] = {}
        for line in lines:
            for kind, name in self._in(line[:SEARCHED], self.patterns):
                names = found.setdefault(kind, {})
                if len(names) < NAMES_OF_A_KIND:
                    names[name] = None
        return tuple(NamedEntity(kind=kind, name=name) for kind, names in sorted(found.items()) for name in names)

    def names_of(self, kind: str, line: str) -> frozenset[str]:
        """What the line names of one kind. Only patterns that can catch it are tried."""
        found = self._in(line[:SEARCHED], [pattern for pattern in self.patterns if kind in pattern.groupindex])
        return frozenset(name for told, name in found if told == kind)

    def _in(self, line: str, patterns: Iterable[re.Pattern[str]]) -> Iterator[tuple[str, str]]:
        for pattern in patterns:
            if (match := pattern.search(line)) is not None:
                yield from _named(match.groupdict())


def _named(groups: Mapping[str, str | None]) -> Iterator[tuple[str, str]]:
    for kind, name in groups.items():
        if not name:
            continue
        if kind == "pod" and (namespace := groups.get("namespace")):
            name = f"{namespace}/{name}"
        yield kind, _SAME_THING.get(name, name)


@cache
def entity_patterns() -> EntityPatterns:
    return EntityPatterns(patterns=tuple(re.compile(pattern) for kind in _kinds() for pattern in kind.find))


def with_captures(captures: tuple[str, ...]) -> EntityPatterns:
    """The general patterns together with those of one rule."""
    general = entity_patterns()
    if not captures:
        return general
    return EntityPatterns(patterns=(*general.patterns, *(re.compile(pattern) for pattern in captures)))


def capture_problem(pattern: str, lines: Iterable[str]) -> str:
    """Why a rule cannot use the pattern; empty when it can. `lines` are the rule's own samples."""
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        return f"{pattern!r} cannot be read: {error}"
    if not compiled.groupindex or set(compiled.groupindex) - entity_kinds():
        return f"{pattern!r} must name kinds of entities.yaml: {', '.join(sorted(entity_kinds()))}"
    if not any(compiled.search(line[:SEARCHED]) for line in lines):
        return f"{pattern!r} catches nothing in any sample that fires"
    return ""


@cache
def entity_kinds() -> frozenset[str]:
    return frozenset(name for pattern in entity_patterns().patterns for name in pattern.groupindex)


def check_entities() -> None:
    """Raises InputRefused when a sample names something else than it says, or a kind catches nothing of its own."""
    for kind in _kinds():
        for line, expected in kind.samples.items():
            told = {entity.kind: entity.name for entity in entity_patterns().names([line])}
            if any(told.get(name) != value for name, value in expected.items()) or kind.kind not in expected:
                raise InputRefused(f"entities.yaml: {kind.kind}: {line[:80]!r} names {told}, not {expected}")


@cache
def _kinds() -> tuple[_Kind, ...]:
    text = files("affidavit.rules").joinpath("entities.yaml").read_text("utf-8")
    loaded = load_yaml(text)
    if not isinstance(loaded, list):
        raise InputRefused("entities.yaml is no list of kinds")
    return tuple(_Kind.model_validate(entry) for entry in loaded)  # pyright: ignore[reportUnknownVariableType] - parsed YAML
