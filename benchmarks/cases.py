"""What is measured, and what it should reach."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from isal import igzip

from affidavit.bundle.atomic_publishing import prepare_output, publish, publish_folder
from affidavit.bundle.file_roles import role_of
from affidavit.bundle.line_index import LineIndex, build_line_index, read_lines
from affidavit.bundle.manifest import manifest_to_json
from affidavit.bundle.workspace import workspace
from affidavit.entrypoints.cli.analyze import INDEX, MANIFEST
from affidavit.index.findings_index import index_to_json
from affidavit.index.scanning.crew import scan_files
from affidavit.index.scanning.rule_matching import LineMeaning, RuleSlots, slots_of
from affidavit.investigation import EXTRACTED, analyze
from affidavit.knowledge import Knowledge
from affidavit.matching.matcher import ROOM, Matcher
from affidavit.rules.pack import RulePack
from benchmarks import peers
from benchmarks.bundles import DATA, BigBundle, big_bundle, expected_counts, patterns_file
from benchmarks.measure import TreeMemory, run_rounds, speed_ratio

WORK = DATA / "work"
NOISY = ("coredns.nxdomain", "kernel.log-messages-suppressed")


@dataclass(frozen=True, kw_only=True)
class Result:
    """`better` says on which side of the target the value should be. Without a target it is shown, and no more."""

    name: str
    value: float
    target: float | None
    better: str
    unit: str = "×"

    @property
    def is_reached(self) -> bool | None:
        if self.target is None:
            return None
        return self.value >= self.target if self.better == "higher" else self.value <= self.target


def scan_speed(pack: RulePack, density: float, rounds: int, *, target: float, label: str = "") -> Iterator[Result]:
    bundle = big_bundle(pack, 500, density)
    files = _readable(bundle.folder)
    slots = RuleSlots(pack)
    _warm(slots, files)
    cases = {
        "scan": lambda: _ignore(scan_files(files, slots, 2)),
        "rg": lambda: peers.shell(peers.ripgrep(patterns_file(pack), bundle.folder)),
    }
    timings = run_rounds(cases, rounds)
    yield Result(
        name=f"scan 500 MB at {density:.2%}{label} against rg -j2",
        value=speed_ratio(timings, "scan", "rg"),
        target=target,
        better="higher",
    )
    yield _differences(pack, bundle, _scan_counts(files, pack), f"scan 500 MB at {density:.2%}")


def pass_speed(
    pack: RulePack, megabytes: int, density: float, rounds: int, *, target: float = 2.0, label: str = ""
) -> Iterator[Result]:
    bundle = big_bundle(pack, megabytes, density)
    label = f"{megabytes} MB at {density:.2%}{label}"
    cases = {
        "pass": lambda: _pass(pack, bundle),
        "chain": lambda: peers.shell(peers.chain(bundle.archive, patterns_file(pack), WORK)),
        "gzip": lambda: peers.shell(peers.gzip_alone(bundle.archive)),
        "igzip": lambda: peers.shell(peers.igzip_alone(bundle.archive)),
    }
    _ignore(slots_of(pack).matcher)
    _clean()
    _pass(pack, bundle)
    counts = _index_counts(WORK / INDEX)
    timings = run_rounds(cases, rounds, between=_clean)
    yield Result(
        name=f"pass {label} against the shell chain",
        value=speed_ratio(timings, "pass", "chain"),
        target=target,
        better="higher",
    )
    yield Result(
        name=f"pass {label} against gzip -dc", value=speed_ratio(timings, "pass", "gzip"), target=1.8, better="higher"
    )
    yield Result(
        name=f"pass {label} against igzip -dc",
        value=speed_ratio(timings, "pass", "igzip"),
        target=None,
        better="higher",
    )
    yield Result(
        name=f"pass {label}: cores busy", value=timings["pass"].cores_busy, target=0.9, better="higher", unit=""
    )
    yield Result(name=f"pass {label}: seconds", value=timings["pass"].median, target=None, better="lower", unit="s")
    yield _differences(pack, bundle, counts, f"pass {label}")


def floor(pack: RulePack, rounds: int) -> Iterator[Result]:
    """What no order of work can avoid: each step alone on one core, all of it shared by two without a pause."""
    bundle = big_bundle(pack, 500, 0.001)
    slots = RuleSlots(pack)
    timings = run_rounds(
        {
            "steps": lambda: _necessary_steps(bundle, slots.matcher),
            "gzip": lambda: peers.shell(peers.gzip_alone(bundle.archive)),
        },
        rounds,
        between=_clean,
    )
    yield Result(
        name="most that inflate, digests, scan and write allow against gzip",
        value=speed_ratio(timings, "steps", "gzip") * (os.cpu_count() or 1),
        target=None,
        better="lower",
    )


def _necessary_steps(bundle: BigBundle, matcher: Matcher) -> None:
    """Inflate, md5, sha256, scan and write, block by block in the cache, without files, lines, hits or an index."""
    hashes = hashlib.md5(usedforsecurity=False), hashlib.sha256()
    archive = hashlib.md5(usedforsecurity=False), hashlib.sha256()
    block = bytearray(1 << 19)
    view = memoryview(block)[:-ROOM]
    WORK.mkdir(parents=True, exist_ok=True)
    with igzip.open(bundle.archive) as source, (WORK / "all").open("wb", buffering=0) as sink:
        while count := source.readinto(view):
            for each in hashes:
                each.update(view[:count])
            matcher.scan(block, count)
            sink.write(view[:count])
    packed = bundle.archive.read_bytes()
    for each in archive:
        each.update(packed)


def cold_speed(pack: RulePack, rounds: int) -> Iterator[Result]:
    bundle = big_bundle(pack, 500, 0.001)
    command = _cold_command(bundle)
    cases = {
        "cold": lambda: _ignore(subprocess.run(command, stdout=subprocess.DEVNULL, check=True)),
        "chain": lambda: peers.shell(peers.chain(bundle.archive, patterns_file(pack), WORK)),
        "gzip": lambda: peers.shell(peers.gzip_alone(bundle.archive)),
    }
    timings = run_rounds(cases, rounds, between=_clean)
    yield Result(
        name="cold command, 500 MB, against the shell chain",
        value=speed_ratio(timings, "cold", "chain"),
        target=1.4,
        better="higher",
    )
    yield Result(
        name="cold command, 500 MB, against gzip -dc",
        value=speed_ratio(timings, "cold", "gzip"),
        target=0.9,
        better="higher",
    )


def memory(pack: RulePack) -> Iterator[Result]:
    bundle = big_bundle(pack, 2000, 0.001)
    _clean()
    command = _cold_command(bundle)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    watched = TreeMemory(process.pid)
    process.wait()
    yield Result(
        name="memory at 2 GB, all processes", value=watched.stop() / 1e6, target=128, better="lower", unit="MB"
    )
    _clean()


def linearity(pack: RulePack, rounds: int) -> Iterator[Result]:
    small, large = big_bundle(pack, 500, 0.001), big_bundle(pack, 2000, 0.001)
    timings = run_rounds(
        {"small": lambda: _pass(pack, small), "large": lambda: _pass(pack, large)}, rounds, between=_clean
    )
    yield Result(
        name="pass of 2 GB over 500 MB", value=1 / speed_ratio(timings, "large", "small"), target=4.6, better="lower"
    )


def small_members(pack: RulePack, rounds: int) -> Iterator[Result]:
    few, many = big_bundle(pack, 54, 0.001), big_bundle(pack, 54, 0.001, extra_members=2600)
    # Nothing is deleted between rounds: ext4 searches long for inodes while thousands were freed a moment ago.
    places = (WORK / str(number) for number in count())
    cases = {"few": lambda: _pass(pack, few, next(places)), "many": lambda: _pass(pack, many, next(places))}
    timings = run_rounds(cases, rounds)
    _clean()
    extra = (timings["many"].median - timings["few"].median) / 2600
    yield Result(name="each extra small member", value=extra * 1e6, target=250, better="lower", unit="µs")


def per_line_loop(pack: RulePack, rounds: int) -> Iterator[Result]:
    """The loop everybody writes first: decode, split, every pattern on every line."""
    bundle = big_bundle(pack, 12, 0.001)
    patterns = [re.compile(pattern) for rule in pack.rules for pattern in rule.match]
    started = time.perf_counter()
    # A tenth of the lines is enough: the loop is linear and takes minutes.
    for path in _readable(bundle.folder).values():
        for line in path.read_bytes().decode("utf-8", "replace").splitlines()[::10]:
            for pattern in patterns:
                pattern.search(line)
    naive = (time.perf_counter() - started) * 10
    files, slots = _readable(bundle.folder), RuleSlots(pack)
    _warm(slots, files)
    timings = run_rounds({"scan": lambda: _ignore(scan_files(files, slots, 2))}, max(rounds, 5))
    yield Result(
        name="scan of 12 MB against a per-line Python loop",
        value=naive / timings["scan"].median,
        target=250,
        better="higher",
    )


def lines_by_number() -> Iterator[Result]:
    path = DATA / "lines.log"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            for block in range(1000):
                file.write(
                    b"".join(
                        b"%012d words that make the line as long as real ones are, about a hundred bytes or more\n"
                        % (block * 7000 + n)
                        for n in range(7000)
                    )
                )
    index = build_line_index(path)
    size = len(index.to_bytes())
    index = LineIndex.from_bytes(index.to_bytes())
    times: list[float] = []
    for number in range(200):
        first = (number * 34_567) % 6_999_000 + 1
        started = time.perf_counter()
        text = read_lines(path, index, first, 100)
        times.append(time.perf_counter() - started)
        if not text.startswith(b"%012d" % (first - 1)) or text.count(b"\n") != 100:
            raise AssertionError(f"line {first} was not found")
    times.sort()
    yield Result(name="100 lines by number in 1 GB", value=times[100] * 1e3, target=0.2, better="lower", unit="ms")
    yield Result(name="line index size", value=100 * size / path.stat().st_size, target=0.01, better="lower", unit="%")


def help_time(rounds: int) -> Iterator[Result]:
    command = [sys.executable, "-m", "affidavit", "--help"]
    timings = run_rounds(
        {"help": lambda: _ignore(subprocess.run(command, stdout=subprocess.DEVNULL, check=True))}, rounds
    )
    yield Result(name="affidavit --help", value=timings["help"].median, target=0.3, better="lower", unit="s")


def _pass(pack: RulePack, bundle: BigBundle, into: Path = WORK) -> None:
    """What an ingest does with an archive: files, manifest and index, on disk."""
    prepare_output(into)
    with workspace(beside=into) as folder:
        analysis = analyze(
            bundle.archive,
            knowledge=Knowledge(pack=pack, checks=()),
            workspace=folder,
            progress=_Unwatched(),
            workers=os.cpu_count() or 1,
        )
        publish_folder(folder / EXTRACTED, into / EXTRACTED)
        publish(into, {MANIFEST: manifest_to_json(analysis.manifest), INDEX: index_to_json(analysis.index)})


class _Unwatched:
    def unpacked(self, path: str, consumed: int, stored: int) -> None:
        pass


def _cold_command(bundle: BigBundle) -> list[str]:
    options = ["--quiet", "--extract", "--out", str(WORK)]
    return [sys.executable, "-m", "affidavit", "analyze", str(bundle.archive), *options]


def _clean() -> None:
    shutil.rmtree(WORK, ignore_errors=True)


def _ignore(_value: object) -> None:
    pass


def _readable(folder: Path) -> dict[str, Path]:
    paths = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    return {name: path for name, path in paths.items() if role_of(name).is_read}


def _warm(slots: RuleSlots, files: dict[str, Path]) -> None:
    """A service has its patterns compiled; forked workers inherit them."""
    _ignore((slots.matcher, [slots.judge(path) for path in files]))


def _scan_counts(files: dict[str, Path], pack: RulePack) -> Counter[tuple[str, str]]:
    slots = RuleSlots(pack)
    counts: Counter[tuple[str, str]] = Counter()
    for path, scanned in scan_files(files, slots, 2).items():
        for slot in scanned.hits.slot.tolist():
            if slots.table[slot].says in (LineMeaning.FAULT, LineMeaning.EXPLAINED):
                counts[slots.table[slot].rule.id, path] += 1
    return counts


def _index_counts(path: Path) -> Counter[tuple[str, str]]:
    index = json.loads(path.read_bytes())
    counts: Counter[tuple[str, str]] = Counter()
    for entry in (*index["findings"], *index["suppressed"]):
        counts[entry["rule"], entry["evidence"]["source_file"]] += entry["count"]
    return counts


def _differences(pack: RulePack, bundle: BigBundle, found: Counter[tuple[str, str]], label: str) -> Result:
    expected = expected_counts(bundle, pack)
    # What healthy noise shows too has no planted truth to compare with.
    planted = [key for key in expected.keys() | found.keys() if key[0] not in NOISY]
    wrong = [key for key in planted if expected[key] != found[key]]
    for rule, file in sorted(wrong)[:10]:
        print(
            f"  differs: {rule} in {file}: expected {expected[rule, file]}, found {found[rule, file]}", file=sys.stderr
        )
    return Result(name=f"{label}: differences from the truth", value=len(wrong), target=0, better="lower", unit="")
