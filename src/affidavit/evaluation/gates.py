"""Gates: bounds that a run must keep. A number that is not there is a failed gate, never a passed one."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from affidavit.errors import InputRefused
from affidavit.yaml_loading import load_yaml


class Bound(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    at_least: float | None = None
    at_most: float | None = None

    @model_validator(mode="after")
    def _bounds_something(self) -> Self:
        if self.at_least is None and self.at_most is None:
            raise ValueError("a gate needs at_least or at_most")
        return self

    def __str__(self) -> str:
        bounds = ((">=", self.at_least), ("<=", self.at_most))
        return " and ".join(f"{sign} {value:g}" for sign, value in bounds if value is not None)

    def holds(self, value: float) -> bool:
        return (self.at_least is None or value >= self.at_least) and (self.at_most is None or value <= self.at_most)


Gates = Mapping[Annotated[str, Field(pattern=r"^[a-z]+\.[a-z0-9_]+$")], Bound]


@dataclass(frozen=True, kw_only=True)
class GateResult:
    """`value` is None when the run did not measure it."""

    name: str
    bound: str
    value: float | None
    holds: bool


def load_gates(path: Path | None = None) -> Gates:
    source = path if path is not None else files("affidavit.evaluation").joinpath("gates.yaml")
    try:
        return TypeAdapter(Gates).validate_python(load_yaml(source.read_text("utf-8")))
    except OSError as error:
        raise InputRefused(f"{source} cannot be read: {error.strerror}", hint="give a YAML file of gates") from error
    except (ValidationError, yaml.YAMLError, UnicodeDecodeError) as error:
        problem = str(error).splitlines()[0]
        raise InputRefused(f"{source} holds no gates: {problem}", hint="docs/evaluation.md shows the form") from error


def check_gates(gates: Gates, measured: Mapping[str, float | None], parts: tuple[str, ...]) -> tuple[GateResult, ...]:
    """Checks only the gates of `parts`: a run over nodes says nothing about incidents."""
    wanted = {name: bound for name, bound in gates.items() if name.split(".")[0] in parts}
    return tuple(_checked(name, bound, measured.get(name)) for name, bound in sorted(wanted.items()))


def _checked(name: str, bound: Bound, value: float | None) -> GateResult:
    return GateResult(name=name, bound=str(bound), value=value, holds=value is not None and bound.holds(value))
