"""Loads the rule catalog and a user's overlay, and refuses them when a sample does not hold."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from affidavit.errors import InputRefused
from affidavit.matching.pattern_language import Wordings
from affidavit.matching.yaml_cache import Parsed, read_yaml
from affidavit.rules.entities import capture_problem, check_entities
from affidavit.rules.passed_sample_checks import once
from affidavit.rules.rule import Rule, RuleStatus, Sample, Suppression, placed

SUPPRESSIONS = "suppressions"
PATCHES = "patches"
# Checks over command output have a form of their own and are loaded elsewhere.
CHECKS = "checks"
_Item = TypeVar("_Item", Rule, Suppression)
_Data = TypeVar("_Data", bound=BaseModel)


@dataclass(frozen=True, kw_only=True)
class RulePack:
    """Rules and suppressions that are switched on, ordered by id."""

    rules: tuple[Rule, ...]
    suppressions: tuple[Suppression, ...]

    @cached_property
    def version(self) -> str:
        """Changes exactly when a rule or suppression does."""
        content = [item.model_dump(mode="json", by_alias=True) for item in (*self.rules, *self.suppressions)]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]

    def rule(self, rule_id: str) -> Rule:
        for rule in self.rules:
            if rule.id == rule_id:
                return rule
        raise InputRefused(f"there is no rule {rule_id!r}")


class Patches(BaseModel):
    """`patches.yaml` of an overlay: by id, the fields that change."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rules: dict[str, dict[str, object]] = {}
    suppressions: dict[str, dict[str, object]] = {}


@dataclass(kw_only=True)
class Contents:
    """The content of rule files by id, also of rules that are switched off, and every problem found in them."""

    rules: dict[str, Rule] = field(default_factory=lambda: dict[str, Rule]())
    suppressions: dict[str, Suppression] = field(default_factory=lambda: dict[str, Suppression]())
    patches: list[Patches] = field(default_factory=lambda: list[Patches]())
    problems: list[InputRefused] = field(default_factory=lambda: list[InputRefused]())

    def pack(self) -> RulePack:
        return RulePack(rules=_switched_on(self.rules), suppressions=_switched_on(self.suppressions))


def load_pack(overlay: Path | None = None) -> RulePack:
    """The built-in catalog; files of `overlay` add to it, replace what has the same id, and patch it."""
    contents = read_catalog()
    if overlay is not None:
        contents = merge(contents, read_overlay(overlay))
    for problem in contents.problems:
        raise problem
    pack = contents.pack()
    known = (*sorted(contents.rules), *sorted(contents.suppressions))
    once("rules", (pack.version, *known), lambda: _check_all(contents))
    return pack


def _check_all(contents: Contents) -> None:
    check_entities()
    check_pack(contents.rules, contents.suppressions)


def read_catalog() -> Contents:
    contents = Contents()
    _read_folder(files("affidavit.rules").joinpath("catalog"), contents)
    return contents


def read_overlay(*paths: Path) -> Contents:
    """Folders of rule files, or single files. Only a path that does not exist is refused; the rest is collected."""
    contents = Contents()
    for path in paths:
        if path.is_dir():
            _read_folder(path, contents)
        elif path.is_file():
            _read_files([(SUPPRESSIONS if path.parent.name == SUPPRESSIONS else "", path)], contents)
        else:
            raise InputRefused(f"{path} is not a directory", hint="give --rules a folder of rule files (*.yaml)")
    return contents


def merge(catalog: Contents, overlay: Contents) -> Contents:
    """The catalog with the overlay's rules and patches. Problems of patches join those of the overlay."""
    merged = Contents(
        rules={**catalog.rules, **overlay.rules},
        suppressions={**catalog.suppressions, **overlay.suppressions},
        problems=[*catalog.problems, *overlay.problems],
    )
    for patches in overlay.patches:
        for key, fields in patches.rules.items():
            _patch(merged.rules, key, fields, Rule, merged.problems)
        for key, fields in patches.suppressions.items():
            _patch(merged.suppressions, key, fields, Suppression, merged.problems)
    return merged


def check_pack(rules: Mapping[str, Rule], suppressions: Mapping[str, Suppression]) -> RulePack:
    """Raises InputRefused at the first rule whose samples or references do not hold."""
    pack = RulePack(rules=_switched_on(rules), suppressions=_switched_on(suppressions))
    for rule in pack.rules:
        for problem in rule_problems(rule, rules):
            raise problem
    for suppression in pack.suppressions:
        for problem in suppression_problems(suppression, rules):
            raise problem
    for problem in shared_names(pack.rules):
        raise problem
    return pack


def rule_problems(rule: Rule, known: Mapping[str, Rule]) -> Iterator[InputRefused]:
    """Every problem for which loading refuses the rule."""
    if unknown := [*rule.unknown_reads(), *(other for other in rule.mistaken_for if other not in known)]:
        yield InputRefused(f"rule {rule.id} names {', '.join(unknown)}, which does not exist")
    try:
        _ = rule.wordings, rule.demands, rule.exceptions, rule.clearing, rule.planning
    except InputRefused:
        yield from _unusable_patterns(*rule.match, *rule.also, *rule.unless, *rule.cleared_by, *rule.planned_by)
    else:
        yield from _sample_problems(rule)
        yield from _unshown_wordings(rule, rule.match, rule.wordings, rule.samples.fires)
        yield from _unshown_wordings(rule, rule.cleared_by, rule.clearing, rule.samples.clears)
        yield from _unshown_wordings(rule, rule.planned_by, rule.planning, rule.samples.plans)
    yield from _capture_problems(rule)


def _capture_problems(rule: Rule) -> Iterator[InputRefused]:
    for pattern in rule.captures:
        if problem := capture_problem(pattern, map(_text, rule.samples.fires)):
            yield InputRefused(f"rule {rule.id}: captures: {problem}")


def suppression_problems(suppression: Suppression, known: Mapping[str, Rule]) -> Iterator[InputRefused]:
    if unknown := [rule for rule in suppression.rules if rule not in known]:
        yield InputRefused(f"suppression {suppression.id} names {', '.join(unknown)}, which does not exist")
    if unusable := list(_unusable_patterns(suppression.context)):
        yield from unusable
        return
    for line in suppression.samples.suppressed:
        if not suppression.explained.match(line.encode()):
            yield InputRefused(f"suppression {suppression.id} does not cover {line!r}")
    for line in suppression.samples.kept:
        if suppression.explained.match(line.encode()):
            yield InputRefused(f"suppression {suppression.id} covers a line it must keep: {line!r}")


def shared_names(rules: tuple[Rule, ...]) -> Iterator[InputRefused]:
    seen: dict[str, str] = {}
    for rule in rules:
        if rule.name in seen:
            yield InputRefused(f"rules {seen[rule.name]} and {rule.id} share the name {rule.name!r}")
        seen[rule.name] = rule.id


def _switched_on(items: Mapping[str, _Item]) -> tuple[_Item, ...]:
    return tuple(items[key] for key in sorted(items) if items[key].status is not RuleStatus.OFF)


def _read_folder(folder: Traversable, contents: Contents) -> None:
    _read_files(list(_rule_files(folder)), contents)


def _read_files(files: list[tuple[str, Traversable]], contents: Contents) -> None:
    for (area, file), parsed in zip(files, read_yaml([file for _, file in files]), strict=True):
        _take(area, file, parsed, contents)


def _take(area: str, file: Traversable, parsed: Parsed, contents: Contents) -> None:
    name = f"{area}/{file.name}" if area else file.name
    if not area and _stem(file) == PATCHES:
        if (patches := _valid(parsed, name, Patches, contents)) is not None:
            contents.patches.append(patches)
    elif area == SUPPRESSIONS:
        _keep(_valid(parsed, name, Suppression, contents), contents.suppressions, _stem(file), name, contents)
    else:
        expected = f"{area}.{_stem(file)}" if area else None
        _keep(_valid(parsed, name, Rule, contents), contents.rules, expected, name, contents)


def _rule_files(folder: Traversable) -> Iterator[tuple[str, Traversable]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir() and entry.name != CHECKS:
            yield from ((entry.name, file) for _, file in _rule_files(entry))
        elif entry.name.endswith((".yaml", ".yml")):
            yield "", entry


def _stem(file: Traversable) -> str:
    return file.name.rsplit(".", 1)[0]


def _valid(parsed: Parsed, name: str, kind: type[_Data], contents: Contents) -> _Data | None:
    if parsed.error is not None:
        hint = "a rule file is YAML in UTF-8"
        contents.problems.append(InputRefused(f"{name} cannot be read: {parsed.error}", hint=hint))
        return None
    try:
        # A file of patches with only comments patches nothing.
        return kind.model_validate({} if parsed.document is None and kind is Patches else parsed.document)
    except ValidationError as error:
        contents.problems.extend(_schema_problems(name, error))
    return None


def _keep(item: _Item | None, items: dict[str, _Item], expected_id: str | None, name: str, contents: Contents) -> None:
    if item is None:
        return
    if expected_id is not None and item.id != expected_id:
        hint = f"the path says {expected_id!r}; make them agree"
        contents.problems.append(InputRefused(f"{name}: its id is {item.id!r}", hint=hint))
    elif item.id in items:
        contents.problems.append(InputRefused(f"{name}: another file has the id {item.id!r} too"))
    else:
        items[item.id] = item


def _patch(
    items: dict[str, _Item], key: str, fields: Mapping[str, object], kind: type[_Item], problems: list[InputRefused]
) -> None:
    what = kind.__name__.lower()
    if key not in items:
        problems.append(InputRefused(f"{PATCHES}.yaml: there is no {what} {key!r}", hint="patches change what exists"))
        return
    changeable = [name for name in kind.model_fields if name != "id"]
    if unknown := [name for name in fields if name not in changeable]:
        hint = f"it can change {', '.join(changeable)}"
        problems.append(InputRefused(f"{PATCHES}.yaml: {key}: a patch cannot change {', '.join(unknown)}", hint=hint))
        return
    try:
        items[key] = kind.model_validate({**items[key].model_dump(mode="json", by_alias=True), **fields})
    except ValidationError as error:
        problems.extend(_schema_problems(f"{PATCHES}.yaml: {key}", error))


def _schema_problems(name: str, error: ValidationError) -> Iterator[InputRefused]:
    for problem in error.errors():
        place = ".".join(str(part) for part in problem["loc"]) or "the file"
        yield InputRefused(f"{name}: {place}: {problem['msg']}", hint="docs/rules.md shows every field")


def _unusable_patterns(*patterns: str) -> Iterator[InputRefused]:
    for pattern in patterns:
        try:
            Wordings([pattern])
        except InputRefused as error:
            yield error


def _sample_problems(rule: Rule) -> Iterator[InputRefused]:
    for sample in rule.samples.fires:
        if not rule.fires_on(*placed(sample, rule)):
            yield InputRefused(
                f"rule {rule.id} stays quiet on a line that must fire: {_text(sample)!r}: {_why(rule, sample)}"
            )
    for sample in rule.samples.quiet:
        if rule.fires_on(*placed(sample, rule)):
            yield InputRefused(f"rule {rule.id} fires on a line that must stay quiet: {_text(sample)!r}")


def _unshown_wordings(
    rule: Rule, sources: tuple[str, ...], wordings: Wordings, samples: tuple[Sample, ...]
) -> Iterator[InputRefused]:
    """Each wording has a sample that shows it, in a file and from a component that the rule reads."""
    shown = [placed(sample, rule) for sample in samples]
    lines = [line for line, path, role in shown if rule.reads_file(path, role) and rule.owns(line, path, role)]
    seen = {position for line in lines for position in wordings.which(line)}
    for position, source in enumerate(sources):
        if position not in seen:
            yield InputRefused(f"rule {rule.id}: no sample shows the wording {source!r}", hint="add one under samples")


def _why(rule: Rule, sample: Sample) -> str:
    line, path, role = placed(sample, rule)
    if not rule.reads_file(path, role):
        return f"it does not read {path}"
    if not rule.wordings.match(line):
        return "no pattern matches"
    return "the line is another component's, or `unless` takes it out"


def _text(sample: Sample) -> str:
    return sample if isinstance(sample, str) else sample.line
