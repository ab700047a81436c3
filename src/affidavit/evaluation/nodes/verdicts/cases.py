"""Makes incidents with a known cause from parts: what each fault writes, and which fault must lead."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from affidavit.errors import InputRefused
from affidavit.evaluation.generator import Form, Layout
from affidavit.evaluation.nodes.scenario import Scenario
from affidavit.yaml_loading import load_yaml

_FOLDER = "scenarios/verdicts"
_PLACED = re.compile(r"([a-z0-9-]+)(?: (\d+(?:\.\d+)?)(?:\.\.(\d+(?:\.\d+)?))?)?")
# The last minute of a part, so that none ends exactly at the collection.
_LAST_MINUTE = 0.5


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _PartGroup(_Data):
    stream: str
    every: Annotated[float, Field(gt=0)]
    lines: tuple[str, ...]


class _PartEdit(_Data):
    file: str
    find: str
    replace: str


class _Part(_Data):
    shows: str
    groups: tuple[_PartGroup, ...] = ()
    edits: tuple[_PartEdit, ...] = ()


class _Case(_Data):
    layout: Layout
    parts: tuple[str, ...]
    leads: tuple[str, ...]
    over: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class VerdictCase:
    """`leads`, `over` and `unknown` are texts of the lines in which these faults show."""

    id: str
    scenario: Scenario
    leads: tuple[str, ...]
    over: tuple[str, ...]
    unknown: tuple[str, ...]
    without: tuple[str, ...]


@cache
def verdict_cases() -> tuple[VerdictCase, ...]:
    parts = TypeAdapter(dict[str, _Part]).validate_python(_load("parts.yaml"))
    cases = TypeAdapter(dict[str, _Case]).validate_python(_load("cases.yaml"))
    return tuple(_case(name, case, parts, seed) for seed, (name, case) in enumerate(cases.items(), 1))


def _load(name: str) -> object:
    return load_yaml(files("affidavit.evaluation").joinpath(_FOLDER).joinpath(name).read_text("utf-8"))


def _case(name: str, case: _Case, parts: Mapping[str, _Part], seed: int) -> VerdictCase:
    groups: list[dict[str, object]] = []
    edits: list[dict[str, object]] = []
    for entry in case.parts:
        part, start, end = _placed(name, entry, parts)
        groups.extend(
            {"stream": group.stream, "at": _minutes(start, end, group.every), "lines": group.lines, "decoy": True}
            for group in part.groups
        )
        edits.extend({**edit.model_dump(), "decoy": True} for edit in part.edits)
    scenario = Scenario.model_validate(
        {
            "id": name,
            "family": "verdict",
            "tells": f"{', '.join(case.parts) or 'nothing'} on {case.layout}",
            "layout": case.layout,
            "form": Form.DIRECTORY,
            "seed": seed,
            "noise_lines": 60,
            "groups": groups,
            "edits": edits,
        }
    )
    return VerdictCase(
        id=name,
        scenario=scenario,
        leads=tuple(parts[lead].shows for lead in case.leads),
        over=tuple(parts[lead].shows for lead in case.over),
        unknown=tuple(parts[lead].shows for lead in case.unknown),
        without=case.without,
    )


def _placed(name: str, entry: str, parts: Mapping[str, _Part]) -> tuple[_Part, float, float]:
    match = _PLACED.fullmatch(entry)
    if match is None or match[1] not in parts:
        raise InputRefused(f"verdict case {name}: {entry!r} is no part", hint="parts stand in parts.yaml")
    return parts[match[1]], float(match[2] or 0), float(match[3] or _LAST_MINUTE)


def _minutes(start: float, end: float, every: float) -> Sequence[float]:
    """At the start, then in its rhythm; the last event near the end, so that the part is open there."""
    count = max(1, int((start - end) / every) + 1)
    return [round(start - number * every, 3) for number in range(count)]
