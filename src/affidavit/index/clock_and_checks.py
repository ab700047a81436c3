"""What a bundle tells before its logs are judged: when it was collected, and what its command output shows."""

from dataclasses import dataclass
from pathlib import Path

from affidavit.bundle.stored import StoredBundle
from affidavit.checks.run import ChecksResult, run_checks
from affidavit.index.clock import BundleClock, read_clock
from affidavit.knowledge import Knowledge


@dataclass(frozen=True, kw_only=True)
class Survey:
    clock: BundleClock
    checked: ChecksResult


def survey(bundle: StoredBundle, knowledge: Knowledge) -> Survey:
    clock = read_clock(name=bundle.name, logs=_read_files(bundle), modified=bundle.modified)
    return Survey(clock=clock, checked=run_checks(knowledge.checks, bundle.locations))


def _read_files(bundle: StoredBundle) -> dict[str, Path]:
    return {file.path: file.location for file in bundle.files if file.role.is_read and file.location is not None}
