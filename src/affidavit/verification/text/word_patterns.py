"""Word patterns kept as YAML with samples, checked when they are loaded."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import re2

from affidavit.errors import InvariantBroken
from affidavit.yaml_loading import load_yaml

_LONE = re.compile("[\ud800-\udfff]")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")


def sentences(text: str) -> list[str]:
    """Half characters are replaced: no pattern engine reads them."""
    return [sentence for sentence in _SENTENCE_END.split(_LONE.sub("\ufffd", text)) if sentence.strip()]


@dataclass(frozen=True, kw_only=True)
class WordPattern:
    """`unless` takes a match in the same sentence back: "never attach …" advises nothing."""

    pattern_id: str
    why: str
    match: Any
    unless: Any | None

    def finds(self, told: Sequence[str]) -> str | None:
        """The words that match in any of these sentences; None when none do."""
        return next((words for sentence in told if (words := self._finds_in(sentence))), None)

    def _finds_in(self, sentence: str) -> str | None:
        found = self.match.search(sentence)
        if found is None or (self.unless is not None and self.unless.search(sentence)):
            return None
        return found.group()


@cache
def word_patterns(file: Path, group: str) -> tuple[WordPattern, ...]:
    """Raises InvariantBroken when a sample does not behave as its entry says."""
    entries: Sequence[Mapping[str, Any]] = load_yaml(file.read_text())[group]
    return tuple(_checked(file, entry) for entry in entries)


def first_match(text: str, patterns: Sequence[WordPattern]) -> Iterator[tuple[WordPattern, str]]:
    """Each pattern that matches, with its words."""
    told = sentences(text)
    for pattern in patterns:
        found = pattern.finds(told)
        if found is not None:
            yield pattern, found


def _checked(file: Path, entry: Mapping[str, Any]) -> WordPattern:
    unless = entry.get("unless")
    pattern = WordPattern(
        pattern_id=entry["id"],
        why=entry["why"],
        match=re2.compile(f"(?i){entry['match']}"),
        unless=re2.compile(f"(?i){unless}") if unless else None,
    )
    silent = [sample for sample in entry["fires"] if pattern.finds(sentences(sample)) is None]
    loud = [sample for sample in entry["quiet"] if pattern.finds(sentences(sample)) is not None]
    if silent or loud:
        raise InvariantBroken(
            f"{file.name}, {pattern.pattern_id}: a sample misbehaves: {(silent or loud)[0]!r}",
            hint="correct `match`, `unless` or the sample",
        )
    return pattern
