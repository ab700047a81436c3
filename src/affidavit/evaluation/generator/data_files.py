"""Loads the generator's data files: noise, faults, trees and layouts."""

from functools import cache
from importlib.resources import files
from typing import cast

from affidavit.yaml_loading import load_yaml

Data = dict[str, object]

_HERE = files("affidavit.evaluation.generator")


@cache
def load(name: str) -> Data:
    text = (_HERE / name).read_text(encoding="utf-8")
    return cast(Data, load_yaml(text))  # our own file, whose shape its reader knows


def names(folder: str) -> tuple[str, ...]:
    found = (entry.name for entry in (_HERE / folder).iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in found if name.endswith(".yaml")))


def texts(value: object) -> tuple[str, ...]:
    """A YAML list of strings, one string, or nothing, as a tuple."""
    if value is None:
        return ()
    if isinstance(value, list):
        return tuple(str(item) for item in cast(list[object], value))
    return (str(value),)


def mapping(value: object) -> Data:
    return cast(Data, value) if isinstance(value, dict) else {}


def items(value: object) -> list[object]:
    return cast(list[object], value) if isinstance(value, list) else []
