"""Load the patterns, and refuse them when a sample misbehaves."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files

import yaml
from pydantic import TypeAdapter, ValidationError

from affidavit.errors import InputRefused
from affidavit.redaction.engine import Engine
from affidavit.redaction.pattern import Pattern, PatternFile, PatternKind
from affidavit.yaml_loading import load_yaml

_WORDS_FILE = "words.yaml"
_WORD = re.compile(r"\{\{([a-z_]+)\}\}")


@cache
def load_patterns() -> dict[PatternKind, tuple[Pattern, ...]]:
    """Without trying the samples: that is `check_samples`, which tests run on every pattern."""
    texts = dict(_files())
    words = _read_words(texts.pop(_WORDS_FILE))
    contents = [_read(name, text) for name, text in texts.items()]
    return {
        kind: tuple(
            _spelled_out(pattern, words) for content in contents if content.kind is kind for pattern in content.patterns
        )
        for kind in PatternKind
    }


def check_samples(patterns: Sequence[Pattern]) -> list[str]:
    """What is wrong with the samples, tried on their own pattern."""
    return [trouble for pattern in patterns for trouble in _troubles(pattern)]


def _troubles(pattern: Pattern) -> Iterator[str]:
    engine = Engine([pattern])
    for sample in pattern.samples.hidden:
        text = sample.whole.encode()
        hidden = "".join(text[span.start : span.end].decode() for span in engine.spans(text))
        if hidden != sample.hidden:
            yield f"{pattern.type}: hides {hidden!r} of {sample.whole!r}, not {sample.hidden!r}"
    for kept in pattern.samples.kept:
        if engine.spans(kept.encode()):
            yield f"{pattern.type}: hides part of {kept!r}"


def _spelled_out(pattern: Pattern, words: Mapping[str, str]) -> Pattern:
    return pattern.model_copy(
        update={
            "match": _replaced(pattern.match, words),
            "unless": tuple(_replaced(each, words) for each in pattern.unless),
            "needs": tuple(_replaced(each, words) for each in pattern.needs),
        }
    )


def _replaced(text: str, words: Mapping[str, str]) -> str:
    try:
        return _WORD.sub(lambda found: words[found[1]], text)
    except KeyError as error:
        raise InputRefused(f"redaction pattern {text!r}: {_WORDS_FILE} has no {error}", hint="add the word") from error


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


def _read_words(text: str) -> dict[str, str]:
    """A word may use the words above it."""
    try:
        written = TypeAdapter(dict[str, str]).validate_python(load_yaml(text))
    except (yaml.YAMLError, ValidationError) as error:
        raise InputRefused(f"redaction patterns in {_WORDS_FILE} cannot be read: {error}") from error
    words: dict[str, str] = {}
    for name, value in written.items():
        words[name] = _replaced(value, words)
    return words
