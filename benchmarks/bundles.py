"""Big bundles to measure on: the rule pack's own samples planted in noise, with exact truth."""

import pickle
import re
from collections import Counter
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from affidavit.bundle.file_roles import FileRole, component_of, role_of
from affidavit.evaluation.generator import BulkSpec, BulkTruth, write_bulk
from affidavit.evidence.severity import Severity
from affidavit.index.scanning.rule_matching import turn_of
from affidavit.rules.pack import RulePack
from affidavit.rules.rule import Rule, placed

DATA = Path(__file__).parent / "data"
# Components whose lines the generator can write as their daemon does.
STREAMS = ("kernel", "kubelet", "containerd", "systemd")
_PREFIX = re.compile(r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ [^\s:]+: |\[ *\d+\.\d+\] )")


def hundred_patterns(full: RulePack) -> RulePack:
    """Rules of the big logs, as many as make about a hundred patterns: the size that peers are compared at."""
    chosen: list[Rule] = []
    areas = [[rule for rule in full.rules if rule.id.startswith(f"{stream}.")] for stream in STREAMS]
    for rule in (rule for row in zip_longest(*areas) for rule in row if rule is not None):
        is_fault = rule.severity.is_at_least(Severity.MEDIUM) and not rule.marks_start
        if is_fault and sum(len(other.match) for other in chosen) + len(rule.match) <= 100:
            chosen.append(rule)
    return RulePack(rules=tuple(sorted(chosen, key=lambda rule: rule.id)), suppressions=())


@dataclass(frozen=True, kw_only=True)
class BigBundle:
    archive: Path
    folder: Path
    truth: BulkTruth


def big_bundle(pack: RulePack, megabytes: int, density: float, *, extra_members: int = 0) -> BigBundle:
    """Made once and kept: the same arguments and rules give the same bytes."""
    name = f"{pack.version}-{megabytes}-{density}-{extra_members}"
    folder = DATA / name
    bundle_folder, archive, kept = folder / "files", folder / "eks_bulk.tar.gz", folder / "truth.pickle"
    if not kept.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        spec = BulkSpec(size_bytes=megabytes * 1_000_000, density=density, extra_members=extra_members)
        kept.write_bytes(pickle.dumps(write_bulk(spec, archive, bundle_folder, planted_lines(pack))))
    return BigBundle(archive=archive, folder=bundle_folder, truth=pickle.loads(kept.read_bytes()))


def planted_lines(pack: RulePack) -> dict[str, list[str]]:
    """Every sample that fires, without the prefix that the generator writes itself."""
    lines: dict[str, list[str]] = {}
    for rule in pack.rules:
        for sample in rule.samples.fires:
            line, _, role = placed(sample, rule)
            stream = component_of(line, role)
            if stream in STREAMS:
                lines.setdefault(stream, []).append(_PREFIX.sub("", line.decode(), count=1))
    return lines


def expected_counts(bundle: BigBundle, pack: RulePack) -> Counter[tuple[str, str]]:
    """Hits by (rule, file): each planted line's first appearance is judged by RE2, the rest are its copies."""
    counts: Counter[tuple[str, str]] = Counter()
    for plant in bundle.truth.plants:
        with (bundle.folder / plant.file).open("rb") as file:
            file.seek(plant.first_offset)
            line = file.readline().rstrip(b"\r\n")
        role = role_of(plant.file)
        said = [rule for rule in pack.rules if _says_something(rule, line, plant.file, role)]
        first = min((turn_of(rule) for rule in said), default=0)
        for rule in said:
            if turn_of(rule) == first and rule.fires_on(line, plant.file, role):
                counts[rule.id, plant.file] += plant.count
    return counts


def _says_something(rule: Rule, line: bytes, path: str, role: FileRole) -> bool:
    """Rules of last resort are silent on lines that clear or announce another rule's fault, too."""
    if rule.fires_on(line, path, role):
        return True
    is_read = rule.reads_file(path, role) and rule.owns(line, path, role)
    return is_read and (rule.clearing.match(line) or rule.planning.match(line))


def patterns_file(pack: RulePack) -> Path:
    path = DATA / f"patterns-{pack.version}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{pattern}\n" for rule in pack.rules for pattern in rule.match))
    return path
