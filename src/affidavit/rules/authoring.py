"""Answers questions of rule authors: where a rule comes from, what it reads, why it does not fire, what is wrong."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import BaseModel

from affidavit.bundle.file_roles import ANY, FileKind, component_of, components, role_of
from affidavit.errors import InputRefused
from affidavit.rules.pack import (
    Contents,
    RulePack,
    merge,
    read_catalog,
    read_overlay,
    rule_problems,
    shared_names,
    suppression_problems,
)
from affidavit.rules.pattern_text_generation import example
from affidavit.rules.rule import Rule, RuleStatus, Sample, Suppression, placed
from affidavit.yaml_loading import load_yaml

# The longest name in the catalog has 44 characters. A terminal would cut a longer one.
LONGEST_NAME = 50
# With fewer fixed characters, the engine must look closely at too many lines.
LEAST_FIXED = 6
PLACEHOLDER = "replace this line"


class RuleOrigin(StrEnum):
    BUILT_IN = "built-in"
    OVERLAY = "overlay"
    REPLACED = "replaced"
    PATCHED = "patched"
    OFF = "switched off"


@dataclass(frozen=True, kw_only=True)
class RuleLibrary:
    """The catalog, the user's own files, and both together; switched off rules included."""

    catalog: Contents
    overlay: Contents
    merged: Contents

    @property
    def pack(self) -> RulePack:
        return self.merged.pack()

    def rule(self, rule_id: str) -> Rule:
        if rule_id not in self.merged.rules:
            near = [known for known in sorted(self.merged.rules) if rule_id.split(".")[-1] in known][:3]
            hint = f"did you mean {', '.join(near)}?" if near else "`affidavit rules list` shows every id"
            raise InputRefused(f"there is no rule {rule_id!r}", hint=hint)
        return self.merged.rules[rule_id]

    def origin(self, item: Rule | Suppression) -> RuleOrigin:
        built_in = {**self.catalog.rules, **self.catalog.suppressions}
        own = {**self.overlay.rules, **self.overlay.suppressions}
        if item.status is RuleStatus.OFF:
            return RuleOrigin.OFF
        if item.id in own:
            return RuleOrigin.REPLACED if item.id in built_in else RuleOrigin.OVERLAY
        return RuleOrigin.BUILT_IN if item == built_in[item.id] else RuleOrigin.PATCHED

    def suppressions_of(self, rule: Rule) -> list[Suppression]:
        return [each for each in self.pack.suppressions if rule.id in each.rules]


def open_library(*paths: Path) -> RuleLibrary:
    """Keeps every problem in `merged.problems`; `refuse_broken` turns the first into an error."""
    catalog, overlay = read_catalog(), read_overlay(*paths)
    return RuleLibrary(catalog=catalog, overlay=overlay, merged=merge(catalog, overlay))


def refuse_broken(library: RuleLibrary) -> RuleLibrary:
    for problem in problems(library, style=False):
        raise problem.error
    return library


class LineVerdict(StrEnum):
    FIRES = "fires"
    NOT_READ = "not read there"
    OTHER_COMPONENT = "other component"
    EXCEPTED = "unless"
    SUPPRESSED = "suppressed"
    CLEARS = "clears"
    PLANS = "plans"


@dataclass(frozen=True, kw_only=True)
class LineJudgement:
    """How a rule judges a line that one of its wordings matches."""

    rule: Rule
    verdict: LineVerdict
    why: str


def judge_line(line: str, path: str, pack: RulePack) -> list[LineJudgement]:
    """How each rule that matches judges the line, those that fire first. Other rules are left out."""
    found = [judgement for rule in pack.rules for judgement in _judgements(rule, line.encode(), path, pack)]
    return sorted(
        found, key=lambda each: (list(LineVerdict).index(each.verdict), each.rule.severity.rank, each.rule.id)
    )


def _judgements(rule: Rule, line: bytes, path: str, pack: RulePack) -> Iterator[LineJudgement]:
    if rule.wordings.match(line):
        verdict, why = _verdict(rule, line, path, pack)
        yield LineJudgement(rule=rule, verdict=verdict, why=why)
    role = role_of(path)
    if rule.reads_file(path, role) and rule.owns(line, path, role):
        if rule.clearing.match(line):
            yield LineJudgement(rule=rule, verdict=LineVerdict.CLEARS, why="the fault is over")
        if rule.planning.match(line):
            yield LineJudgement(rule=rule, verdict=LineVerdict.PLANS, why="what follows was intended")


def _verdict(rule: Rule, line: bytes, path: str, pack: RulePack) -> tuple[LineVerdict, str]:
    role = role_of(path)
    if not rule.reads_file(path, role):
        kind = "" if role.kind is FileKind.LOG else f", which is {_KINDS[role.kind]}"
        return LineVerdict.NOT_READ, f"it reads {', '.join(rule.reads)} and not {path}{kind}"
    if not rule.owns(line, path, role):
        return (
            LineVerdict.OTHER_COMPONENT,
            f"{component_of(line, role)} wrote the line, and it reads {', '.join(rule.reads)}",
        )
    if rule.also and not rule.demands.match(line):
        return LineVerdict.EXCEPTED, f"it says nothing of what `also` asks for: {', '.join(rule.also)[:120]}"
    if taken_out := rule.exceptions.which(line):
        return LineVerdict.EXCEPTED, f"`unless` takes it out: {rule.unless[min(taken_out)]}"
    for suppression in pack.suppressions:
        if rule.id in suppression.rules and suppression.explained.match(line):
            return LineVerdict.SUPPRESSED, f"by {suppression.id}: {suppression.reason}"
    return LineVerdict.FIRES, "; ".join(when_it_counts(rule))


_KINDS = {
    FileKind.LOG: "a log",
    FileKind.OUTPUT: "command output, read only by rules that name its path",
    FileKind.CONFIG: "a copy of configuration, which no rule reads",
    FileKind.BINARY: "not text",
    FileKind.UNKNOWN: "not a file that collectors write",
}


def when_it_counts(rule: Rule) -> list[str]:
    """Sentences that say how time and other lines change the meaning of the rule's lines."""
    said: list[str] = []
    if rule.repeated is not None:
        said.append(
            f"{rule.severity} from {rule.repeated.times} times within {rule.repeated.within_seconds} s, "
            f"else {rule.repeated.otherwise}"
        )
    if rule.startup_seconds:
        said.append(f"expected in the first {rule.startup_seconds} s after a start")
    if rule.brief_seconds:
        said.append(f"low where it lasted no more than {rule.brief_seconds} s and did not come back")
    if rule.cleared_by:
        said.append(f"over after a line that matches {' or '.join(rule.cleared_by)}")
    if rule.planned_by:
        said.append(f"intended after a line that matches {' or '.join(rule.planned_by)}")
    if rule.marks_start:
        said.append("marks a start of its component")
    return said


class _LayoutRow(BaseModel):
    globs: tuple[str, ...]


class _LayoutFiles(BaseModel):
    files: tuple[_LayoutRow, ...]


def files_read(rule: Rule) -> list[str]:
    """Globs of the collectors' files that the rule reads."""
    return [glob for glob, path in _known_files() if rule.reads_file(path, role_of(path))]


def component_files() -> dict[str, list[str]]:
    """For each component, globs of the logs that can hold its lines."""
    logs = [(glob, role) for glob, path in _known_files() if (role := role_of(path)).kind is FileKind.LOG]
    return {each: [glob for glob, role in logs if each in role.holds] for each in sorted(components())}


@cache
def _known_files() -> tuple[tuple[str, str], ...]:
    """Globs of the layout, each with a path that it matches."""
    text = files("affidavit.bundle").joinpath("layout.yaml").read_text("utf-8")
    rows = _LayoutFiles.model_validate(load_yaml(text)).files
    return tuple((glob, re.sub(r"\*+", "x", glob)) for row in rows for glob in row.globs)


def look_alikes(rule: Rule, pack: RulePack) -> dict[str, str]:
    """Ids of rules that could be mistaken for this one, and why."""
    found = dict.fromkeys(rule.mistaken_for, "named by the rule")
    for other in pack.rules:
        if rule.id in other.mistaken_for:
            found.setdefault(other.id, "names this rule")
    for other in also_firing(rule, pack):
        found.setdefault(other, "fires on a sample of it too")
    for other in pack.rules:
        if other.signal == rule.signal and other.id != rule.id:
            found.setdefault(other.id, f"same signal, {rule.signal}")
    return found


def also_firing(rule: Rule, pack: RulePack) -> list[str]:
    shown = [placed(sample, rule) for sample in rule.samples.fires]
    # Rules of last resort have the line only where no other rule does.
    others = (other for other in pack.rules if other.id != rule.id and not other.last_resort)
    return [other.id for other in others if any(other.fires_on(*each) for each in shown)]


@dataclass(frozen=True, kw_only=True)
class RuleProblem:
    """`about` is the id of a rule or suppression, or "" when a file could not be read at all."""

    about: str
    error: InputRefused


def problems(library: RuleLibrary, *, style: bool = True) -> list[RuleProblem]:
    """Everything that is wrong with what the overlay brings, or with the catalog when there is no overlay.

    With `style` also what loading does not refuse.
    """
    known = library.merged.rules
    found = [RuleProblem(about="", error=error) for error in library.merged.problems]
    for rule in touched_rules(library):
        found.extend(RuleProblem(about=rule.id, error=error) for error in rule_problems(rule, known))
        if style:
            found.extend(RuleProblem(about=rule.id, error=error) for error in _style_problems(rule, library))
    for suppression in library.pack.suppressions:
        errors = suppression_problems(suppression, known)
        found.extend(RuleProblem(about=suppression.id, error=error) for error in errors)
    found.extend(RuleProblem(about="", error=error) for error in shared_names(library.pack.rules))
    return found


def touched_rules(library: RuleLibrary) -> list[Rule]:
    """What the overlay adds, replaces or patches; the whole catalog where there is no overlay."""
    rules = library.pack.rules
    if not (
        library.overlay.rules or library.overlay.suppressions or library.overlay.patches or library.overlay.problems
    ):
        return list(rules)
    return [rule for rule in rules if library.origin(rule) is not RuleOrigin.BUILT_IN]


def _style_problems(rule: Rule, library: RuleLibrary) -> Iterator[InputRefused]:
    if len(rule.name) > LONGEST_NAME:
        yield InputRefused(f"the name has {len(rule.name)} characters", hint=f"say it in {LONGEST_NAME}")
    if any(PLACEHOLDER in _text(sample) for sample in (*rule.samples.fires, *rule.samples.quiet)):
        yield InputRefused("a sample is still the placeholder", hint="give lines that a machine wrote")
    for wording in rule.match:
        if (fixed := example(wording).fixed) < LEAST_FIXED:
            hint = f"anchor it on {LEAST_FIXED} or more that are always the same"
            yield InputRefused(f"the wording {wording!r} has {fixed} fixed characters", hint=hint)
    if not _has_near_miss(rule):
        yield InputRefused("no quiet sample is a near miss", hint="add a harmless line that shares words with `match`")
    yield from _duplicates(rule, library)


def _has_near_miss(rule: Rule) -> bool:
    words = _long_words(rule.match) | _long_words(_text(sample) for sample in rule.samples.fires)
    return any(words & _long_words([_text(sample)]) for sample in rule.samples.quiet)


def _long_words(texts: Iterable[str]) -> set[str]:
    return {word.lower() for text in texts for word in re.findall(r"[A-Za-z]{4,}", text)}


def _duplicates(rule: Rule, library: RuleLibrary) -> Iterator[InputRefused]:
    hint = "patch that rule, replace it by its id, or give this one another wording"
    others = [other for other in library.pack.rules if other.id != rule.id and other.id in library.catalog.rules]
    others = [other for other in others if not other.last_resort]
    rivals = [other for other in others if set(other.reads) & {*rule.reads, ANY}]
    same = {(wording, other.id) for other in rivals for wording in rule.match if wording in other.match}
    for wording, other in sorted(same):
        yield InputRefused(f"{other} has the wording {wording!r} too", hint=hint)
    shown = [placed(sample, rule) for sample in rule.samples.fires]
    for other in others:
        if rule.id not in library.catalog.rules and all(other.fires_on(*each) for each in shown):
            yield InputRefused(f"{other.id} fires on all its samples already", hint=hint)


def _text(sample: Sample) -> str:
    return sample if isinstance(sample, str) else sample.line


def skeleton(rule_id: str) -> str:
    """The text of a rule file that loads as it is, and passes lint when its samples are real lines."""
    if re.fullmatch(r"[a-z0-9-]+\.[a-z0-9-]+", rule_id) is None:
        hint = "area.problem in small letters, digits and dashes, such as kernel.disk-on-fire"
        raise InputRefused(f"{rule_id!r} is not an id", hint=hint)
    area, name = rule_id.split(".")
    reads = area if area in components() else ANY
    return _SKELETON.format(id=rule_id, name=name.replace("-", " ").capitalize().ljust(4, "."), reads=reads)


_SKELETON = """\
id: {id}
status: draft                        # draft, then trial, then stable; off switches it off
name: {name}  # the problem in a few words; unique
means: Say in a sentence what happened when this line was written.
severity: medium                     # critical | high | medium | low | info
because: Say in a sentence why it is that bad, and for whom.
signal: {id}  # rules of one family share it and confirm each other
reads: [{reads}]  # components, paths or globs of files, or `any` log
match:                               # any of these; RE2, on one line
  - 'the words of the fault'
unless: []                           # a line that also matches one of these is no hit
first_steps:                         # one to four
  - Say what to look at first.
mistaken_for: []                     # ids of look-alikes
samples:
  fires:                             # each wording under `match` needs one; a line that a machine wrote
    - '(replace this line) the words of the fault'
  quiet:                             # a line that looks like it and is no fault
    - '(replace this line) other words, no fault'
"""
