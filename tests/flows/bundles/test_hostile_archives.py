"""Whatever an archive does, nothing outside the output changes, memory stays small, and what was lost is told.

Archives are analyzed by the real command, in a process of its own, in a folder with something to lose around it.
Those that differ from another only in detail are analyzed in this process: starting the command takes far longer.
"""

import json
import os
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.support.archives.bundles import analyze_at
from tests.support.archives.hostile import ARCHIVES, PROBE, Hostile
from tests.support.knowledge.packs import a_pack, a_rule
from tests.support.processes.command import run_forked

from affidavit.bundle.atomic_publishing import prepare_output, publish
from affidavit.bundle.manifest import manifest_to_json
from affidavit.bundle.workspace import workspace
from affidavit.entrypoints.cli.exit_codes import Exit
from affidavit.entrypoints.cli.verify.index import VerifyOptions, run_verify
from affidavit.index.findings_index import index_to_json

PACK = a_pack(a_rule("kernel.oom", "Out of memory: Killed process", reads=["kernel"]))
MEMORY_MB = 256
# For a machine with much else to do.
PATIENCE = 60
# Alone on a machine every archive takes less than this; on a busy one that is only a remark.
SLOW = 5.0


@dataclass(frozen=True, kw_only=True)
class Ran:
    code: int
    out: str
    err: str
    megabytes: float
    seconds: float


@dataclass(frozen=True)
class Cell:
    """A folder tree of its own: the archive, a working folder inside other folders, and things that must stay."""

    root: Path

    @classmethod
    def build(cls, root: Path) -> "Cell":
        for folder in ("around/here", "home", "tmp"):
            (root / folder).mkdir(parents=True)
        for place in ("sentinel", "around/sentinel", "around/here/sentinel", "home/sentinel", "around/x.log"):
            (root / place).write_text(f"I am {place}\n")
        return cls(root)

    @property
    def out(self) -> Path:
        return self.root / "around" / "here" / "out"

    def archive(self, hostile: Hostile) -> Path:
        path = self.root / "around" / f"{hostile.name}.{hostile.form}"
        path.write_bytes(hostile.build())
        return path

    def run(self, *arguments: str | Path) -> Ran:
        ended, out, err = run_forked(
            [*map(str, arguments)],
            cwd=self.root / "around" / "here",
            env={
                **os.environ,
                "TMPDIR": str(self.root / "tmp"),
                "HOME": str(self.root / "home"),
                # The cache of engines is ours to write; everything else must stay as it was.
                "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"),
            },
            seconds=PATIENCE,
        )
        return Ran(code=ended.code, out=out, err=err, megabytes=ended.megabytes, seconds=ended.seconds)

    def snapshot(self) -> dict[str, tuple[int, int, bytes]]:
        """Everything but the output: kind and permissions, time of change, content."""
        seen: dict[str, tuple[int, int, bytes]] = {}
        for path in [self.root, *self.root.rglob("*")]:
            if path != self.out and self.out not in path.parents:
                status = path.lstat()
                content = path.read_bytes() if path.is_file() else b""
                # The time of a folder changes when the output or a working folder comes and goes.
                changed = status.st_mtime_ns if path.is_file() else 0
                seen[str(path.relative_to(self.root))] = (status.st_mode, changed, content)
        return seen


@pytest.fixture(scope="module")
def seconds() -> Iterator[dict[str, float]]:
    taken: dict[str, float] = {}
    yield taken
    slowest = sorted(taken, key=lambda name: -taken[name])[:5]
    print("\nslowest archives: " + ", ".join(f"{name} {taken[name]:.1f} s" for name in slowest))
    for name in slowest:
        if taken[name] > SLOW:
            warnings.warn(f"{name} took {taken[name]:.1f} s, more than {SLOW} s", stacklevel=1)


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    return Cell.build(tmp_path / "cell")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, hostile in ARCHIVES.items() if not hostile.is_variant])
def test_a_hostile_archive_is_analyzed_as_far_as_it_goes_and_harms_nothing(
    name: str, cell: Cell, seconds: dict[str, float]
) -> None:
    hostile = ARCHIVES[name]
    archive = cell.archive(hostile)
    before = cell.snapshot()

    ran = cell.run("analyze", archive, "--out", cell.out)

    seconds[name] = ran.seconds
    assert cell.snapshot() == before
    assert not Path("/", PROBE).exists()
    assert "Traceback" not in ran.err
    assert ran.megabytes < MEMORY_MB
    assert is_plain_text(ran.out) and is_plain_text(ran.err)
    if hostile.is_refused:
        assert_refused(hostile, ran, cell.out)
        return
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert_accounted_for(hostile, cell.out)
    assert all(file in ran.out for file in lost_files(cell.out))
    assert (
        run_verify(VerifyOptions(index=cell.out / "findings_index.json", bundle=str(archive), is_quiet=True))
        is Exit.DONE
    )


@pytest.mark.parametrize("name", [name for name, hostile in ARCHIVES.items() if hostile.is_variant])
def test_a_variant_of_it_is_analyzed_as_far_as_it_goes_too(name: str, cell: Cell) -> None:
    hostile = ARCHIVES[name]
    archive = cell.archive(hostile)
    before = cell.snapshot()
    prepare_output(cell.out)
    with workspace(beside=cell.root / "tmp" / "x") as folder:
        analysis = analyze_at(archive, PACK, folder)
        written = {
            "manifest.json": manifest_to_json(analysis.manifest),
            "findings_index.json": index_to_json(analysis.index),
        }
        publish(cell.out, written)
    assert cell.snapshot() == before
    assert not Path("/", PROBE).exists()
    assert_accounted_for(hostile, cell.out)
    assert (
        run_verify(VerifyOptions(index=cell.out / "findings_index.json", bundle=str(archive), is_quiet=True))
        is Exit.UNAVAILABLE
    )


@pytest.mark.parametrize(
    "name",
    [
        "dots_anywhere_in_a_path",
        "names_too_long_and_paths_too_deep",
        "names_that_are_not_utf_8_or_not_visible",
        "hard_links",
        "chain_of_symlinks_with_a_file_through_it",
        "rotated_log_and_a_member_inside_it",
        "gzip_bomb_between_good_members",
        "zip_with_windows_paths",
    ],
)
def test_files_kept_of_a_hostile_archive_are_plain_and_inside_the_output(name: str, cell: Cell) -> None:
    archive = cell.archive(ARCHIVES[name])
    before = cell.snapshot()
    ran = cell.run("analyze", archive, "--out", cell.out, "--extract", "--quiet")
    assert ran.code == Exit.DONE
    is_whole = name in (
        "names_that_are_not_utf_8_or_not_visible",
        "hard_links",
        "chain_of_symlinks_with_a_file_through_it",
    )
    assert re.fullmatch("" if is_whole else r"affidavit: INCOMPLETE: .+\n", ran.err)
    assert cell.snapshot() == before
    root = cell.out / "extracted"
    kept = [path for path in root.rglob("*") if path.is_symlink() or not path.is_dir()]
    assert all(path.is_file() and not path.is_symlink() and path.stat().st_nlink == 1 for path in kept)
    stored = [entry["key"] for entry in manifest_of(cell.out)["expected_files"] if entry["sha256"]]
    assert sorted(str(path.relative_to(root)) for path in kept) == sorted(key.split("/", 2)[2] for key in stored)


@pytest.mark.parametrize("form", ["markdown", "json"])
def test_no_form_of_the_report_carries_escape_sequences_from_names(form: str, cell: Cell) -> None:
    archive = cell.archive(ARCHIVES["escape_sequences_and_line_ends_in_names"])
    ran = cell.run("analyze", archive, "--format", form)
    assert ran.code == Exit.DONE
    assert re.fullmatch(r"affidavit: INCOMPLETE: .+\n" if form == "json" else "", ran.err)
    assert is_plain_text(ran.err)
    assert "forged line" in ran.out.replace("`", "") and is_plain_text(ran.out)


def test_there_are_enough_hostile_archives() -> None:
    assert len(ARCHIVES) >= 80


def assert_refused(hostile: Hostile, ran: Ran, out: Path) -> None:
    message, hint = ran.err.splitlines()
    assert ran.code in (Exit.REFUSED, Exit.UNAVAILABLE)
    assert message.startswith("affidavit: ") and hostile.says in message
    assert hint.startswith("  ") and len(hint) > 10
    assert not any(out.iterdir())


def assert_accounted_for(hostile: Hostile, out: Path) -> None:
    manifest, index = manifest_of(out), index_of(out)
    files = {entry["relative_path"]: entry for entry in manifest["expected_files"]}
    assert len(files) == len(manifest["expected_files"]), "two files have one path"
    for bad in hostile.bad:
        entry = next(files[path] for path in files if path.startswith(bad))
        assert entry["status"] in ("failed", "skipped") and entry["reason"]
    told = [f"{path}: {entry['reason']}" for path, entry in files.items() if "reason" in entry]
    told += manifest["problems"]
    assert any(hostile.says in line for line in (told or files))
    assert bool(told) is not hostile.is_lossless
    for good in hostile.good:
        assert (files[good]["status"], files[good]["size_bytes"] > 0) == ("extracted", True)
        assert good in {finding["evidence"]["source_file"] for finding in index["findings"]}
    assert bool(lost_files(out)) == bool(told)
    assert index["coverage"]["coverage_pct"] < 100 or not told
    assert set(told) <= set(index["gaps"])
    assert all(is_plain_text(path.read_text()) for path in out.iterdir())


def lost_files(out: Path) -> list[str]:
    skipped = index_of(out)["coverage"]["skipped_files"]
    return [entry["file"] for entry in skipped if entry["reason"] == "unreadable"]


def index_of(out: Path) -> dict[str, Any]:
    return json.loads((out / "findings_index.json").read_text())


def manifest_of(out: Path) -> dict[str, Any]:
    return json.loads((out / "manifest.json").read_text())


def is_plain_text(text: str) -> bool:
    return text.replace("\n", "").isprintable()
