"""Load the patterns, and refuse them when a sample misbehaves."""

from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

import yaml
from pydantic import ValidationError

from affidavit.errors import InputRefused
from affidavit.redaction.engine import Engine
from affidavit.redaction.pattern import Kind, Pattern, PatternFile
from affidavit.yaml_text import load_yaml


@cache
def load_patterns() -> dict[Kind, tuple[Pattern, ...]]:
    """Without trying the samples: that is `check_samples`, which tests run on every pattern."""
    contents = [_read(name, text) for name, text in _files()]
    return {
        kind: tuple(pattern for content in contents if content.kind is kind for pattern in content.patterns)
        for kind in Kind
    }


def check_samples(patterns: Sequence[Pattern]) -> list[str]:
    """What is wrong with the samples, tried on their own pattern."""
    return [trouble for pattern in patterns for trouble in _troubles(pattern)]


def _troubles(pattern: Pattern) -> Iterator[str]:
    engine = Engine([pattern])
    for sample in pattern.samples.hidden:
        text = sample.whole.encode()
        hidden = [text[span.start : span.end].decode() for span in engine.spans(text)]
        if hidden != [sample.hidden]:
            yield f"{pattern.type}: hides {hidden} of {sample.whole!r}, not {sample.hidden!r}"
    for kept in pattern.samples.kept:
        if engine.spans(kept.encode()):
            yield f"{pattern.type}: hides part of {kept!r}"


def _files() -> Iterator[tuple[str, str]]:
    folder = files("affidavit.redaction") / "catalog"
    for entry in sorted(folder.iterdir(), key=lambda each: each.name):
        if entry.name.endswith(".yaml"):
            yield entry.name, entry.read_text("utf-8")


def _read(name: str, text: str) -> PatternFile:
    try:
        return PatternFile.model_validate(load_yaml(text))
    except (yaml.YAMLError, ValidationError) as error:
        raise InputRefused(f"redaction patterns in {name} cannot be read: {error}") from error
