"""The schema of a rule: the wordings it matches, the files it reads, what it means. One file each, with samples."""

import re
from enum import StrEnum
from functools import cached_property
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from affidavit.bundle.file_roles import (
    ANY,
    FileKind,
    FileRole,
    components,
    example_path,
    glob_pattern,
    is_flat_file,
    may_be_by,
    role_of,
)
from affidavit.evidence.severity import Severity
from affidavit.matching.pattern_language import Wordings
from affidavit.rules.entities import EntityPatterns, with_captures

Sentence = Annotated[str, Field(min_length=8, max_length=300)]
Texts = tuple[Annotated[str, Field(min_length=1)], ...]


class RuleStatus(StrEnum):
    DRAFT = "draft"
    TRIAL = "trial"
    STABLE = "stable"
    OFF = "off"


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


def _off_means_off(value: object) -> object:
    """YAML reads a bare `off` as false."""
    return RuleStatus.OFF if value is False else value


Switch = Annotated[RuleStatus, BeforeValidator(_off_means_off)]


class PlacedSample(_Data):
    """A sample line in a named file, where the file is what matters."""

    in_: Annotated[str, Field(alias="in")]
    line: str


Sample = str | PlacedSample


class RuleSamples(_Data):
    fires: Annotated[tuple[Sample, ...], Field(min_length=1)]
    quiet: Annotated[tuple[Sample, ...], Field(min_length=1)]
    clears: tuple[Sample, ...] = ()
    plans: tuple[Sample, ...] = ()


class Repetition(_Data):
    """It is a fault only from so many lines in so many seconds; `otherwise` is the severity below that."""

    times: Annotated[int, Field(ge=2)]
    within_seconds: Annotated[int, Field(ge=1)]
    otherwise: Severity = Severity.INFO
    once_passed: bool = False
    """Fewer lines are lowered only once their program logged on for ten minutes without another."""
    only: Annotated[str, Field(min_length=1)] | None = None
    """Fewer lines are lowered only if each of them matches this: a reason that passes by itself."""

    unless_beside_fault: bool = False
    """Fewer lines keep their severity where they came while a fault of another rule, high or worse, was there."""

    @cached_property
    def passing(self) -> Wordings:
        return Wordings([self.only] if self.only is not None else [])


class Described(_Data):
    """What a person is told about a fault, however it is found: by a line rule or by a check."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9-]+\.[a-z0-9-]+$")]
    status: Switch = RuleStatus.STABLE
    name: Annotated[str, Field(min_length=4, max_length=60)]
    means: Sentence
    severity: Severity
    because: Sentence
    signal: Annotated[str, Field(pattern=r"^[a-z0-9-]+\.[a-z0-9-]+$")]
    reads: Annotated[Texts, Field(min_length=1)]
    first_steps: Annotated[Texts, Field(min_length=1, max_length=4)]
    mistaken_for: Texts = ()


class Rule(Described):
    match: Annotated[Texts, Field(min_length=1)]
    also: Texts = ()
    """A line must match one of these, too. They are asked of hits alone, so `level=warn` stays a cheap wording."""
    unless: Texts = ()
    cleared_by: Texts = ()
    cleared_for: str | None = None
    """A kind of `entities.yaml`: a line of `cleared_by` clears only what names the same of this kind. What worked soon
    after few tries is low."""
    passes_with: Texts = ()
    """Rules of the same event elsewhere, in lines that name what was tried again: what came together with failures that
    all passed, passed too."""
    as_severe_as: Texts = ()
    """Rules of the same event: where each line comes with lines of one of these in its file, it is as severe as the
    worst of them."""
    planned_by: Texts = ()
    planned_for: str | None = None
    """A kind of `entities.yaml`: a line of `planned_by` announces only lines that name the same of this kind."""
    startup_seconds: Annotated[int, Field(ge=0, le=3600)] = 0
    told_once: bool = False
    """It is logged when it begins and not again, so that silence does not end it: only a line of `cleared_by` makes it
    part of a start."""
    brief_seconds: Annotated[int, Field(ge=0, le=600)] = 0
    """An outage no longer than this is low, once its program logged on for ten minutes without it. Only where each try
    is logged and tries never end: for others silence says nothing."""
    tries_on: Texts = ()
    """With `brief_seconds`: lines of those who try until it works. Of them two are enough, and silence until the
    collection tells that it worked."""
    repeated: Repetition | None = None
    marks_start: bool = False
    lasts: bool = False
    """Once seen, the fault holds until the node reboots, even if no further line says so."""
    last_resort: bool = False
    """Counts only lines on which no other rule says anything: an error in words that nobody listed."""
    captures: Texts = ()
    """Patterns for names that only this rule's lines have. Their named groups are kinds of `entities.yaml`."""
    samples: RuleSamples

    def reads_file(self, path: str, role: FileRole) -> bool:
        """Whether any line of the file could be this rule's. Command output is read only when named by path."""
        if not role.is_read:
            return False
        is_ours = role.kind is FileKind.LOG and any(component in self.reads for component in role.holds)
        return is_ours or self._reads_all_of(path, role)

    def owns_all_of(self, path: str, role: FileRole) -> bool:
        """Whether the rule reads every line of the file, whichever component wrote it."""
        return self._reads_all_of(path, role) or all(component in self.reads for component in role.holds)

    def accepts(self, line: bytes, path: str, role: FileRole) -> bool:
        """Whether a line that matches really belongs to this rule."""
        return self.owns(line, path, role) and self.means_it(line)

    def means_it(self, line: bytes) -> bool:
        """Whether a line that matches says what `also` asks for, and nothing of `unless`."""
        return (not self.also or self.demands.match(line)) and not self.exceptions.match(line)

    def owns(self, line: bytes, path: str, role: FileRole) -> bool:
        """Whether a component that the rule reads wrote the line, or may have: a line need not say who wrote it."""
        return self._reads_all_of(path, role) or may_be_by(line, role, self.reads)

    def fires_on(self, line: bytes, path: str, role: FileRole) -> bool:
        """Whether the rule fires on one line, by RE2 alone. This defines what the rule means."""
        if not self.reads_file(path, role) or not self.wordings.match(line):
            return False
        return self.accepts(line, path, role)

    def _reads_all_of(self, path: str, role: FileRole) -> bool:
        if role.kind is FileKind.LOG and ANY in self.reads:
            return True
        return self.names_file(path)

    def names_file(self, path: str) -> bool:
        """Whether `reads` names the file itself, not just a component."""
        return any(pattern.fullmatch(path) for pattern in self.globs)

    @cached_property
    def wordings(self) -> Wordings:
        return Wordings(self.match)

    @cached_property
    def demands(self) -> Wordings:
        return Wordings(self.also)

    @cached_property
    def exceptions(self) -> Wordings:
        return Wordings(self.unless)

    @cached_property
    def clearing(self) -> Wordings:
        return Wordings(self.cleared_by)

    @cached_property
    def planning(self) -> Wordings:
        return Wordings(self.planned_by)

    @cached_property
    def trying_on(self) -> Wordings:
        return Wordings(self.tries_on)

    @cached_property
    def names_in(self) -> EntityPatterns:
        """The names in lines of this rule."""
        return with_captures(self.captures)

    @cached_property
    def globs(self) -> tuple[re.Pattern[str], ...]:
        return tuple(glob_pattern(entry) for entry in self.reads if _is_glob(entry))

    def unknown_reads(self) -> list[str]:
        return [entry for entry in self.reads if not _is_glob(entry) and entry != ANY and entry not in components()]


class SuppressionSamples(_Data):
    suppressed: Annotated[tuple[str, ...], Field(min_length=1)]
    kept: Annotated[tuple[str, ...], Field(min_length=1)]


class Suppression(_Data):
    """Hits of `rules` on lines that match `context` are explained by `reason` and are no finding."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    status: Switch = RuleStatus.STABLE
    rules: Annotated[Texts, Field(min_length=1)]
    context: str
    reason: Sentence
    samples: SuppressionSamples

    @cached_property
    def explained(self) -> Wordings:
        return Wordings([self.context])


def placed(sample: Sample, rule: Rule) -> tuple[bytes, str, FileRole]:
    """The sample's line, its file and the file's role. A bare line is placed in the first file the rule reads."""
    path = sample.in_ if isinstance(sample, PlacedSample) else _first_file(rule.reads)
    line = sample.line if isinstance(sample, PlacedSample) else sample
    return line.encode("utf-8"), path, role_of(path)


def _first_file(reads: Texts) -> str:
    return reads[0].replace("*", "x") if _is_glob(reads[0]) else example_path(reads[0])


def _is_glob(entry: str) -> bool:
    return "/" in entry or "*" in entry or "." in entry or is_flat_file(entry)
