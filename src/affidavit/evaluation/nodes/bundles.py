"""Puts the bundle of a scenario on disk, generated or the user's own, with its truth."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from affidavit.errors import InputRefused
from affidavit.evaluation.generator import BundleTruth, GeneratedBundle, Problem, generate, write
from affidavit.evaluation.nodes.scenario import Group, Scenario


@dataclass(frozen=True, kw_only=True)
class PlacedBundle:
    """`logs` is None for a bundle of the user's own: only its layout can say what a log is there."""

    path: Path
    truth: BundleTruth
    logs: frozenset[str] | None
    digest: str
    """Of names and contents, so the archive's form changes nothing."""


def place(scenario: Scenario, folder: Path) -> PlacedBundle:
    """Raises InputRefused when a scenario plants something that its layout has no file for."""
    if scenario.bundle is not None:
        return _on_disk(scenario, scenario.bundle)
    try:
        bundle = generate(scenario.spec())
    except ValueError as error:
        raise InputRefused(f"scenario {scenario.id}: {error}", hint="make the scenario and the layout agree") from error
    _refuse_lost_lines(scenario, bundle)
    return PlacedBundle(
        path=write(bundle, folder, scenario.form), truth=bundle.truth, logs=bundle.logs, digest=_digest(bundle.files)
    )


def _refuse_lost_lines(scenario: Scenario, bundle: GeneratedBundle) -> None:
    """Raises InputRefused when no file of the layout has the planted line: nobody could find that problem."""
    for group in scenario.groups:
        if _applies(group, scenario) and not group.decoy and not _is_told(group, scenario.id, bundle.truth):
            raise InputRefused(
                f"scenario {scenario.id}: no file of {scenario.layout} carries the stream {group.stream!r}",
                hint="choose a layout that has it (generator/layouts.yaml)",
            )
    for edit in scenario.edits:
        if not any(file.endswith(edit.file) for file in bundle.files):
            raise InputRefused(f"scenario {scenario.id}: {scenario.layout} has no {edit.file}", hint="choose another")


def _applies(group: Group, scenario: Scenario) -> bool:
    return (not group.only or scenario.layout in group.only) and scenario.layout not in group.except_


def _is_told(group: Group, fault: str, truth: BundleTruth) -> bool:
    severity = group.severity.value if group.severity else ""
    fixed = (group.text or "").split("@{")[0]
    named = [problem for problem in truth.problems if problem.fault == fault and problem.severity == severity]
    return any(fixed in problem.text or fixed.replace('"', '""') in problem.text for problem in named)


def _on_disk(scenario: Scenario, path: Path) -> PlacedBundle:
    if not path.exists():
        raise InputRefused(
            f"scenario {scenario.id}: there is no {path}", hint="`bundle` is relative to the scenario's folder"
        )
    problems = tuple(
        Problem(
            fault=scenario.id,
            file=known.file,
            severity=known.severity.value,
            lines=known.lines,
            count=known.count or len(known.lines),
            first_time=None,
            last_time=None,
            text=known.text,
            context=known.context,
            any_line=known.any_line,
        )
        for known in scenario.problems
    )
    return PlacedBundle(path=path, truth=BundleTruth(problems=problems), logs=None, digest=_path_digest(path))


def _digest(contents: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for path in sorted(contents):
        digest.update(f"{path}\0{hashlib.sha256(contents[path]).hexdigest()}\n".encode())
    return digest.hexdigest()


def _path_digest(path: Path) -> str:
    if path.is_dir():
        inside = sorted(entry for entry in path.rglob("*") if entry.is_file() and not entry.is_symlink())
        return _digest({entry.relative_to(path).as_posix(): entry.read_bytes() for entry in inside})
    return _digest({path.name: path.read_bytes()})
