"""Reads a bundle's collection and boot times, and runs the checks over its command output."""

from dataclasses import dataclass, replace
from pathlib import Path

from affidavit.bundle.unpacked_bundle import StoredBundle
from affidavit.checks.run_on_bundle import CheckEvidence, ChecksResult, run_checks
from affidavit.index.times.bundle_clock import BundleClock, read_clock
from affidavit.knowledge import Knowledge
from affidavit.verdict.refuting_facts import load_facts


@dataclass(frozen=True, kw_only=True)
class Survey:
    clock: BundleClock
    checked: ChecksResult
    facts: tuple[CheckEvidence, ...]
    """Measured values that are no fault. They can refute one."""


def survey(bundle: StoredBundle, knowledge: Knowledge) -> Survey:
    clock = read_clock(name=bundle.name, logs=_read_files(bundle), modified=bundle.modified)
    facts = {check.id for check in load_facts()}
    result = run_checks((*knowledge.checks, *load_facts()), bundle.locations)
    return Survey(
        clock=clock,
        checked=replace(result, shown=tuple(each for each in result.shown if each.check.id not in facts)),
        facts=tuple(each for each in result.shown if each.check.id in facts),
    )


def _read_files(bundle: StoredBundle) -> dict[str, Path]:
    return {file.path: file.location for file in bundle.files if file.role.is_read and file.location is not None}
