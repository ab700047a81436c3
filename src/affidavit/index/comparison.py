"""Compares two analyzed bundles: which findings are new, gone, more or fewer, and which settings changed."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from affidavit.bundle.file_roles import FileKind, glob_pattern, role_of
from affidavit.bundle.unpacked_bundle import StoredBundle
from affidavit.evidence.finding import Finding
from affidavit.evidence.severity import Severity
from affidavit.index.findings_index import FindingsIndex
from affidavit.yaml_loading import load_yaml

_OWN_NAMES = re.compile(r"\bi-[0-9a-f]{8,17}\b|\bip-\d+-\d+-\d+-\d+(?:\.[a-z0-9-]+)*")
LARGEST_SETTINGS = 1 << 20
MOST_LINES = 20


class Difference(StrEnum):
    NEW = "new"
    GONE = "gone"
    MORE = "more"
    FEWER = "fewer"
    SAME = "same"


@dataclass(frozen=True, kw_only=True)
class ComparedFinding:
    """One pattern on both sides. The ids are those of each side's own index."""

    pattern: str
    severity: Severity
    change: Difference
    before: int
    after: int
    before_ids: tuple[str, ...]
    after_ids: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ChangedSettings:
    """Lines that stand on one side only. `is_cut` when there are more than are listed."""

    file: str
    removed: tuple[str, ...]
    added: tuple[str, ...]
    is_cut: bool = False


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """`not_compared` names settings that only one side has, or that were too large to read."""

    findings: tuple[ComparedFinding, ...]
    settings: tuple[ChangedSettings, ...]
    not_compared: tuple[str, ...]


class _Compared(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    globs: tuple[str, ...]
    ignore: str


def compare_findings(before: FindingsIndex, after: FindingsIndex) -> tuple[ComparedFinding, ...]:
    """By pattern, the worst first; what did not change comes last."""
    sides = _by_pattern(before.findings), _by_pattern(after.findings)
    compared = [_compared(pattern, *(side.get(pattern, []) for side in sides)) for pattern in {*sides[0], *sides[1]}]
    order = list(Difference)
    return tuple(sorted(compared, key=lambda each: (order.index(each.change), each.severity.rank, each.pattern)))


def _by_pattern(findings: Iterable[Finding]) -> Mapping[str, list[Finding]]:
    found: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        found[finding.pattern].append(finding)
    return found


def _compared(pattern: str, before: Sequence[Finding], after: Sequence[Finding]) -> ComparedFinding:
    counts = sum(each.count for each in before), sum(each.count for each in after)
    return ComparedFinding(
        pattern=pattern,
        severity=min((each.severity for each in (*before, *after)), key=lambda severity: severity.rank),
        change=_change(*counts),
        before=counts[0],
        after=counts[1],
        before_ids=tuple(each.finding_id for each in before),
        after_ids=tuple(each.finding_id for each in after),
    )


def _change(before: int, after: int) -> Difference:
    if before == after:
        return Difference.SAME
    if not before or not after:
        return Difference.NEW if after else Difference.GONE
    return Difference.MORE if after > before else Difference.FEWER


def compare_settings(before: StoredBundle, after: StoredBundle) -> tuple[tuple[ChangedSettings, ...], tuple[str, ...]]:
    """Changed settings, and what could not be compared."""
    sides = dict(_settings_of(before)), dict(_settings_of(after))
    changed = [_changed(path, sides[0][path], sides[1][path]) for path in sorted({*sides[0]} & {*sides[1]})]
    alone = sorted({*sides[0]} ^ {*sides[1]})
    not_compared = tuple(f"{path}: only {'before' if path in sides[0] else 'after'}" for path in alone)
    return tuple(each for each in changed if each is not None), not_compared


def _settings_of(bundle: StoredBundle) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Lines of each file that says how the node is set up."""
    for path, location in bundle.locations.items():
        ignore = _ignored_lines(path)
        if ignore is None or location.stat().st_size > LARGEST_SETTINGS:
            continue
        lines = location.read_text("utf-8", errors="replace").splitlines()
        yield path, tuple(line for line in lines if line.strip() and not (ignore and re.search(ignore, line)))


def _ignored_lines(path: str) -> str | None:
    """A pattern of lines that say nothing; None when the file holds no settings."""
    for entry in _outputs():
        if any(glob_pattern(glob).fullmatch(path) for glob in entry.globs):
            return entry.ignore
    return "" if role_of(path).kind is FileKind.CONFIG else None


@cache
def _outputs() -> tuple[_Compared, ...]:
    text = files("affidavit.index").joinpath("settings_compared.yaml").read_text("utf-8")
    return tuple(_Compared.model_validate(entry) for entry in load_yaml(text))


def _unnamed(line: str) -> str:
    """Without the node's own name and id, which differ between any two nodes."""
    return _OWN_NAMES.sub("<node>", line)


def _changed(path: str, before: Sequence[str], after: Sequence[str]) -> ChangedSettings | None:
    known_before, known_after = {_unnamed(line) for line in before}, {_unnamed(line) for line in after}
    removed = [line for line in before if _unnamed(line) not in known_after]
    added = [line for line in after if _unnamed(line) not in known_before]
    if not removed and not added:
        return None
    return ChangedSettings(
        file=path,
        removed=tuple(removed[:MOST_LINES]),
        added=tuple(added[:MOST_LINES]),
        is_cut=max(len(removed), len(added)) > MOST_LINES,
    )


def compare(before: FindingsIndex, after: FindingsIndex, bundles: tuple[StoredBundle, StoredBundle]) -> Comparison:
    settings, not_compared = compare_settings(*bundles)
    return Comparison(findings=compare_findings(before, after), settings=settings, not_compared=not_compared)
