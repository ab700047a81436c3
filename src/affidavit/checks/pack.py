"""Loads the catalog of checks and a user's overlay, and refuses them when a sample does not hold."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Set
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from pydantic import ValidationError

from affidavit.checks.check import Check, FiringSample
from affidavit.checks.computation_results import Shown
from affidavit.checks.numbered_lines import Document
from affidavit.checks.run_named_computation import apply_check, refuse_unusable
from affidavit.errors import InputRefused
from affidavit.matching.yaml_cache import Parsed, read_yaml
from affidavit.rules.passed_sample_checks import once
from affidavit.rules.rule import RuleStatus


def load_checks(overlay: Path | None = None) -> tuple[Check, ...]:
    """The checks that are switched on, ordered by id. Files of `overlay` add checks or replace those of the same id."""
    checks = _read_folder(files("affidavit.checks").joinpath("catalog"))
    if overlay is not None:
        if not overlay.is_dir():
            raise InputRefused(f"{overlay} is not a directory", hint="give a folder of check files (*.yaml)")
        checks = {**checks, **_read_folder(overlay)}
    known = {*checks, *_rule_ids()}
    used = tuple(checks[key] for key in sorted(checks) if checks[key].status is not RuleStatus.OFF)
    once("checks", (version_of(used), *sorted(known)), lambda: refuse_misbehaving(used, known))
    return used


def checked_folder(folder: Traversable) -> tuple[Check, ...]:
    """The checks of a folder outside the catalog, ordered by id. Raises InputRefused when a sample does not hold."""
    found = _read_folder(folder)
    used = tuple(found[key] for key in sorted(found))
    once("checks", (version_of(used),), lambda: refuse_misbehaving(used, found.keys()))
    return used


def version_of(checks: Iterable[Check]) -> str:
    """Changes exactly when a check's data does. The code of computations is part of the indexer's version."""
    content = [check.model_dump(mode="json", by_alias=True) for check in sorted(checks, key=lambda check: check.id)]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def refuse_misbehaving(used: tuple[Check, ...], known: Set[str]) -> None:
    """Raises InputRefused at the first check whose samples or references do not hold."""
    for check in used:
        if unknown := [other for other in check.mistaken_for if other not in known]:
            raise InputRefused(f"check {check.id} names {', '.join(unknown)}, which does not exist")
        refuse_unusable(check)
        _refuse_bad_samples(check)
    _refuse_shared_names(used)


def _refuse_bad_samples(check: Check) -> None:
    for sample in check.samples.fires:
        _refuse_unread(check, sample.files)
        expected = {(place.in_, place.line) for place in sample.shows}
        if (shown := _shown(check, sample.files)) != expected:
            raise InputRefused(
                f"check {check.id} shows {_places(shown)} of a sample that must show {_places(expected)}: "
                f"{_beginning(sample)!r}"
            )
    for sample in check.samples.quiet:
        _refuse_unread(check, sample.files)
        if shown := _shown(check, sample.files):
            raise InputRefused(f"check {check.id} shows {_places(shown)} of a sample that must stay quiet")


def _refuse_unread(check: Check, sample: Mapping[str, str]) -> None:
    if unread := [path for path in sample if check.root_of(path) is None]:
        raise InputRefused(f"check {check.id}: a sample holds {', '.join(unread)}, which the check does not read")


def _shown(check: Check, sample: Mapping[str, str]) -> set[tuple[str, int]]:
    documents = [Document(path, text.encode()) for path, text in sorted(sample.items())]
    return {(found.path, found.line) for found in apply_check(check, documents) if isinstance(found, Shown)}


def _places(shown: set[tuple[str, int]]) -> str:
    return ", ".join(f"{path}:{line}" for path, line in sorted(shown)) or "nothing"


def _beginning(sample: FiringSample) -> str:
    return next(iter(sample.files.values()))[:120]


def _refuse_shared_names(checks: tuple[Check, ...]) -> None:
    seen: dict[str, str] = {}
    for check in checks:
        if check.name in seen:
            raise InputRefused(f"checks {seen[check.name]} and {check.id} share the name {check.name!r}")
        seen[check.name] = check.id


def _read_folder(folder: Traversable) -> dict[str, Check]:
    checks: dict[str, Check] = {}
    found = list(_yaml_files(folder))
    for (area, file), parsed in zip(found, read_yaml([file for _, file in found]), strict=True):
        check = _valid(file, parsed)
        expected = f"{area}.{_stem(file)}"
        if area and check.id != expected:
            raise InputRefused(
                f"{file.name}: its id is {check.id!r}", hint=f"the path says {expected!r}; make them agree"
            )
        checks[check.id] = check
    return checks


def _valid(file: Traversable, parsed: Parsed) -> Check:
    if parsed.error is not None:
        raise InputRefused(f"{file.name} cannot be read: {parsed.error}", hint="a check file is YAML in UTF-8")
    try:
        return Check.model_validate(parsed.document)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise InputRefused(
            f"{file.name}: {place}: {first['msg']}", hint="compare with a check of the catalog"
        ) from error


def _rule_ids() -> set[str]:
    """Rule ids, from file names alone: a check may name a rule in `mistaken_for`."""
    return {f"{area}.{_stem(file)}" for area, file in _yaml_files(files("affidavit.rules").joinpath("catalog"))}


def _yaml_files(folder: Traversable) -> Iterator[tuple[str, Traversable]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from ((entry.name, file) for _, file in _yaml_files(entry))
        elif entry.name.endswith((".yaml", ".yml")):
            yield "", entry


def _stem(file: Traversable) -> str:
    return file.name.rsplit(".", 1)[0]
