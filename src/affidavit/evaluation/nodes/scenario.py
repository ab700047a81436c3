"""Loads node scenarios: a bundle and the truth about it, one YAML file each.

Either the file says what to generate (layout, faults, lines of its own), and the generator knows on which line each
trouble ended up, or it names a bundle on disk and lists its problems. The truth names files and lines, never rules.
"""

from collections.abc import Iterator, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from affidavit.errors import InputRefused
from affidavit.evaluation.generator import BundleSpec, Form, Layout, fault_names
from affidavit.evidence.severity import Severity
from affidavit.yaml_loading import load_yaml

NODES = "scenarios/nodes"

Texts = tuple[Annotated[str, Field(min_length=1)], ...]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


_Told = TypeVar("_Told", bound=_Data)


class Steps(_Data):
    """Minutes before the end of the fault: `count` of them, `every` so many."""

    from_: Annotated[float, Field(alias="from")]
    every: float
    count: Annotated[int, Field(ge=1)]


class Group(_Data):
    """One kind of event in one stream; see the generator's faults for what the fields mean."""

    stream: str
    severity: Severity | None = None
    text: str | None = None
    at: Steps | tuple[float, ...]
    lines: str | Texts
    each: dict[str, str] = {}
    only: Texts = ()
    except_: Annotated[Texts, Field(alias="except")] = ()
    decoy: bool = False
    silent: bool = False
    """A decoy that no finding may name, not even a low one."""
    takes_noise: bool = False
    any_line: bool = False

    @model_validator(mode="after")
    def _tells_trouble_or_none(self) -> Self:
        if self.silent and not self.decoy:
            raise ValueError("only a decoy can be silent")
        return _told(self, self.severity, self.text, self.decoy)


class Edit(_Data):
    """A change to what a command printed."""

    file: str
    find: str
    replace: str
    severity: Severity | None = None
    text: str | None = None
    decoy: bool = False

    @model_validator(mode="after")
    def _tells_trouble_or_none(self) -> Self:
        return _told(self, self.severity, self.text, self.decoy)


class KnownProblem(_Data):
    """A problem of a bundle on disk, named by its lines."""

    file: str
    severity: Severity
    lines: Annotated[tuple[int, ...], Field(min_length=1)]
    count: Annotated[int | None, Field(ge=1)] = None
    """How often it happened; None: as often as it has lines."""
    text: str = ""
    context: tuple[int, ...] = ()
    any_line: bool = False


class Scenario(_Data):
    """`is_healthy` ones hold noise and near-misses only: nothing at medium or above may be found in them."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    family: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    tells: Annotated[str, Field(min_length=12)]
    layout: Layout = Layout.AL2023
    form: Form = Form.TAR_GZ
    seed: int = 1
    noise_lines: Annotated[int, Field(ge=0, le=100_000)] = 400
    newline: Annotated[str | None, Field(pattern="^(lf|crlf)$")] = None
    faults: Texts = ()
    vars: dict[str, str] = {}
    groups: tuple[Group, ...] = ()
    edits: tuple[Edit, ...] = ()
    bundle: Path | None = None
    problems: tuple[KnownProblem, ...] = ()

    @model_validator(mode="after")
    def _is_one_or_the_other(self) -> Self:
        if self.bundle is None and self.problems:
            raise ValueError("problems are listed for a bundle on disk; a generated one knows its own")
        if self.bundle is not None and (self.faults or self.groups or self.edits):
            raise ValueError("a bundle on disk cannot have lines planted in it")
        if unknown := sorted(set(self.faults) - set(fault_names())):
            raise ValueError(f"no fault is called {', '.join(unknown)}; there are {', '.join(fault_names())}")
        return self

    @property
    def is_healthy(self) -> bool:
        told = (*self.groups, *self.edits)
        return not (set(self.faults) - {"healthy"}) and not self.problems and all(entry.decoy for entry in told)

    def spec(self) -> BundleSpec:
        own = self._own()
        return BundleSpec(
            layout=self.layout,
            seed=self.seed,
            noise_lines=self.noise_lines,
            faults=(*self.faults, self.id) if own else self.faults,
            own_faults={self.id: own} if own else {},
            newline={"lf": b"\n", "crlf": b"\r\n"}[self.newline] if self.newline else None,
        )

    def _own(self) -> dict[str, object]:
        dumped = self.model_dump(mode="json", by_alias=True, include={"vars", "groups", "edits"})
        entries = (*dumped["groups"], *dumped["edits"])
        return {**dumped, "groups": [_given(entry) for entry in dumped["groups"]]} if entries else {}


def load_scenarios(folder: Path | None = None) -> tuple[Scenario, ...]:
    """The built-in node scenarios, or those of a folder. Raises InputRefused for a file that is none."""
    place: Traversable = folder if folder is not None else files("affidavit.evaluation").joinpath(NODES)
    if not place.is_dir():
        raise InputRefused(f"{place} is not a folder", hint="give a folder of scenario files (*.yaml)")
    found = tuple(_scenario(entry, folder) for entry in _files(place))
    if not found:
        raise InputRefused(
            f"{place} holds no scenario", hint="a scenario is a *.yaml file; docs/evaluation.md shows one"
        )
    _refuse_twins(found)
    return found


def _files(place: Traversable) -> Iterator[Traversable]:
    named = sorted((entry.name, entry) for entry in place.iterdir() if entry.name.endswith(".yaml"))
    return (entry for _, entry in named)


def _scenario(file: Traversable, folder: Path | None) -> Scenario:
    try:
        loaded: Any = load_yaml(file.read_text("utf-8"))
        scenario = Scenario.model_validate({"id": file.name.removesuffix(".yaml"), **loaded})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputRefused(
            f"{file.name}: {where}: {first['msg']}", hint="docs/evaluation.md describes a scenario"
        ) from error
    except (yaml.YAMLError, TypeError, UnicodeDecodeError) as error:
        raise InputRefused(f"{file.name} is not a scenario: {error}", hint="it is a YAML mapping") from error
    if scenario.bundle is not None and folder is not None:
        return scenario.model_copy(update={"bundle": folder / scenario.bundle})
    return scenario


def _refuse_twins(scenarios: Sequence[Scenario]) -> None:
    seen: set[str] = set()
    for scenario in scenarios:
        if scenario.id in seen:
            raise InputRefused(f"two scenarios are called {scenario.id}", hint="the id is the file's name")
        seen.add(scenario.id)


def _told(entry: _Told, severity: Severity | None, text: str | None, decoy: bool) -> _Told:
    if decoy == (severity is not None or bool(text)):
        raise ValueError("give severity and text, or decoy: true for lines that are no trouble")
    if not decoy and (severity is None or not text):
        raise ValueError("severity and text go together")
    return entry


def _given(group: dict[str, object]) -> dict[str, object]:
    """Drops fields that were left out: to the generator an empty `only` means no layout at all."""
    return {name: value for name, value in group.items() if value not in (None, [], {})}
