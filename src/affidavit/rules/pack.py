"""Load the rule catalog, with an overlay of the user's own, and refuse it when a sample misbehaves."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import ValidationError

from affidavit.errors import InputRefused
from affidavit.rules.patterns import LinePattern
from affidavit.rules.rule import Rule, Sample, Status, Suppression, placed

SUPPRESSIONS = "suppressions"
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Item = TypeVar("_Item", Rule, Suppression)


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


def load_pack(overlay: Path | None = None) -> RulePack:
    """The built-in catalog; files of `overlay` add to it, and replace what has the same id."""
    catalog = files("affidavit.rules").joinpath("catalog")
    rules, suppressions = _read_folder(catalog)
    if overlay is not None:
        if not overlay.is_dir():
            raise InputRefused(f"{overlay} is not a directory", hint="give --rules a folder of rule files (*.yaml)")
        more_rules, more_suppressions = _read_folder(overlay)
        rules, suppressions = {**rules, **more_rules}, {**suppressions, **more_suppressions}
    return check_pack(rules, suppressions)


def check_pack(rules: Mapping[str, Rule], suppressions: Mapping[str, Suppression]) -> RulePack:
    """Raises InputRefused at the first rule whose samples or references do not hold."""
    pack = RulePack(rules=_switched_on(rules), suppressions=_switched_on(suppressions))
    for rule in pack.rules:
        _check_rule(rule, rules)
    for suppression in pack.suppressions:
        _check_suppression(suppression, rules)
    _refuse_shared_names(pack.rules)
    return pack


def _switched_on(items: Mapping[str, _Item]) -> tuple[_Item, ...]:
    return tuple(items[key] for key in sorted(items) if items[key].status is not Status.OFF)


def _read_folder(folder: Traversable) -> tuple[dict[str, Rule], dict[str, Suppression]]:
    rules: dict[str, Rule] = {}
    suppressions: dict[str, Suppression] = {}
    for area, file in _rule_files(folder):
        if area == SUPPRESSIONS:
            suppression = _read(file, Suppression, expected_id=_stem(file))
            suppressions[suppression.id] = suppression
        else:
            rule = _read(file, Rule, expected_id=f"{area}.{_stem(file)}" if area else None)
            rules[rule.id] = rule
    return rules, suppressions


def _rule_files(folder: Traversable) -> Iterator[tuple[str, Traversable]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from ((entry.name, file) for _, file in _rule_files(entry))
        elif entry.name.endswith((".yaml", ".yml")):
            yield "", entry


def _stem(file: Traversable) -> str:
    return file.name.rsplit(".", 1)[0]


def _read(file: Traversable, kind: type[_Item], *, expected_id: str | None) -> _Item:
    try:
        item = kind.model_validate(yaml.load(file.read_text("utf-8"), Loader=_Loader))
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        raise InputRefused(f"{file.name} cannot be read: {error}", hint="a rule file is YAML in UTF-8") from error
    except ValidationError as error:
        raise InputRefused(f"{file.name}: {_first_problem(error)}", hint="docs/rules.md shows every field") from error
    if expected_id is not None and item.id != expected_id:
        raise InputRefused(
            f"{file.name}: its id is {item.id!r}", hint=f"the path says {expected_id!r}; make them agree"
        )
    return item


def _first_problem(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"]) or "the file"
    return f"{place}: {first['msg']}"


def _check_rule(rule: Rule, known: Mapping[str, Rule]) -> None:
    if unknown := [*rule.unknown_reads(), *(other for other in rule.mistaken_for if other not in known)]:
        raise InputRefused(f"rule {rule.id} names {', '.join(unknown)}, which does not exist")
    for sample in rule.samples.fires:
        if not rule.fires_on(*placed(sample, rule)):
            raise InputRefused(
                f"rule {rule.id} stays quiet on a line that must fire: {_text(sample)!r}: {_why(rule, sample)}"
            )
    for sample in rule.samples.quiet:
        if rule.fires_on(*placed(sample, rule)):
            raise InputRefused(f"rule {rule.id} fires on a line that must stay quiet: {_text(sample)!r}")
    _check_wordings(rule, rule.match, rule.patterns, rule.samples.fires)
    _check_wordings(rule, rule.cleared_by, rule.clearing, rule.samples.clears)
    _check_wordings(rule, rule.planned_by, rule.planning, rule.samples.plans)


def _check_wordings(
    rule: Rule, sources: tuple[str, ...], patterns: tuple[LinePattern, ...], samples: tuple[Sample, ...]
) -> None:
    """Each wording has a sample that shows it, in a file and from a component that the rule reads."""
    shown = [placed(sample, rule) for sample in samples]
    lines = [line for line, path, role in shown if rule.reads_file(path, role) and rule.owns(line, path, role)]
    for source, pattern in zip(sources, patterns, strict=True):
        if not any(pattern.search(line) for line in lines):
            raise InputRefused(f"rule {rule.id}: no sample shows the wording {source!r}", hint="add one under samples")


def _why(rule: Rule, sample: Sample) -> str:
    line, path, role = placed(sample, rule)
    if not rule.reads_file(path, role):
        return f"it does not read {path}"
    if not any(pattern.search(line) for pattern in rule.patterns):
        return "no pattern matches"
    return "the line is another component's, or `unless` takes it out"


def _text(sample: Sample) -> str:
    return sample if isinstance(sample, str) else sample.line


def _check_suppression(suppression: Suppression, known: Mapping[str, Rule]) -> None:
    if unknown := [rule for rule in suppression.rules if rule not in known]:
        raise InputRefused(f"suppression {suppression.id} names {', '.join(unknown)}, which does not exist")
    for line in suppression.samples.suppressed:
        if suppression.pattern.search(line.encode()) is None:
            raise InputRefused(f"suppression {suppression.id} does not cover {line!r}")
    for line in suppression.samples.kept:
        if suppression.pattern.search(line.encode()) is not None:
            raise InputRefused(f"suppression {suppression.id} covers a line it must keep: {line!r}")


def _refuse_shared_names(rules: tuple[Rule, ...]) -> None:
    seen: dict[str, str] = {}
    for rule in rules:
        if rule.name in seen:
            raise InputRefused(f"rules {seen[rule.name]} and {rule.id} share the name {rule.name!r}")
        seen[rule.name] = rule.id
