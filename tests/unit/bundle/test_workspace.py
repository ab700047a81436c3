"""Results appear whole or not at all, and nothing else stays: not on a full disk, not on Ctrl-C."""

import os
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from tests.support.archives.raw_archives import header, member, tar

from affidavit.bundle import atomic_publishing
from affidavit.bundle.atomic_publishing import exclusive, prepare_output, publish, publish_folder
from affidavit.bundle.workspace import workspace
from affidavit.entrypoints.cli.exit_codes import Exit
from affidavit.errors import EvidenceUnavailable, InputRefused

OOM = b"[ 8123.561377] Out of memory: Killed process 18342 (java) total-vm:9213440kB, anon-rss:7710020kB\n"
FILES = {"manifest.json": b"m" * 5000, "findings_index.json": b"i" * 5000}


@pytest.fixture
def tmpdir_of_command(tmp_path: Path) -> Path:
    (tmp_path / "tmp").mkdir()
    return tmp_path / "tmp"


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_workspace_is_empty_private_and_gone_afterwards(tmp_path: Path) -> None:
    with workspace(beside=tmp_path / "out") as folder:
        assert folder.parent == tmp_path
        assert (names_in(folder), folder.stat().st_mode & 0o777) == ([], 0o700)
        (folder / "deep").mkdir()
        (folder / "deep" / "file").write_bytes(b"x")
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ValueError])
def test_a_workspace_is_removed_whatever_ends_the_work(error: type[BaseException], tmp_path: Path) -> None:
    with pytest.raises(error), workspace(beside=tmp_path / "out") as folder:
        (folder / "file").write_bytes(b"x")
        raise error
    assert names_in(tmp_path) == []


def test_a_workspace_that_cannot_be_made_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(EvidenceUnavailable, match="no working folder") as raised, workspace():
        pass
    assert "TMPDIR" in raised.value.hint


def test_published_files_are_whole_and_replace_earlier_ones(tmp_path: Path) -> None:
    publish(tmp_path, FILES)
    publish(tmp_path, {**FILES, "manifest.json": b"new"})
    assert names_in(tmp_path) == ["findings_index.json", "manifest.json"]
    assert (tmp_path / "manifest.json").read_bytes() == b"new"


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("nth", [1, 2])
def test_when_writing_fails_no_file_is_new_and_none_is_left_half_written(
    error: BaseException, nth: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(tmp_path, dict.fromkeys(FILES, b"old"))
    calls = iter(range(1, 9))

    def full(_file: int) -> None:
        if next(calls) == nth:
            raise error

    monkeypatch.setattr(atomic_publishing.os, "fsync", full)
    expected = EvidenceUnavailable if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected) as raised:
        publish(tmp_path, FILES)
    assert names_in(tmp_path) == ["findings_index.json", "manifest.json"]
    assert {path.read_bytes() for path in tmp_path.iterdir()} == {b"old"}
    if isinstance(raised.value, EvidenceUnavailable):
        assert "the disk is full" in str(raised.value) and "nothing half-written" in raised.value.hint


def test_an_output_that_cannot_be_written_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(EvidenceUnavailable, match="cannot be made") as raised:
        prepare_output(tmp_path / "file" / "below")
    assert raised.value.hint == "choose another --out"
    prepare_output(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


def test_a_folder_is_published_once_and_never_over_another(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "x").write_bytes(b"x")
    publish_folder(tmp_path / "source", tmp_path / "target")
    assert names_in(tmp_path / "target") == ["x"]
    with pytest.raises(InputRefused, match="is there already"):
        publish_folder(tmp_path / "source", tmp_path / "target")


# The real command, from here on.


def start(arguments: list[str | Path], tmpdir: Path, *, largest_file: int | None = None) -> subprocess.Popen[str]:
    def limit() -> None:
        if largest_file is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

    return subprocess.Popen(
        [sys.executable, "-m", "affidavit", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmpdir), "PYTHONDONTWRITEBYTECODE": "1"},
        start_new_session=True,
        preexec_fn=limit,
    )


@pytest.mark.parametrize(
    ("size", "largest_file", "message"),
    [(4 << 20, 1 << 20, "kernel/dmesg.current could not be written"), (100, 1000, "findings_index.json could not be")],
    ids=["while unpacking", "while writing results"],
)
def test_a_full_disk_leaves_no_output_and_a_clear_message(
    size: int, largest_file: int, message: str, tmp_path: Path, tmpdir_of_command: Path
) -> None:
    # No file may grow past a limit, which to a writer is the same as a disk without room.
    content = (OOM * (size // len(OOM) + 1))[:size]
    (tmp_path / "bundle.tar").write_bytes(tar(member("kernel/dmesg.current", content)))
    out = tmp_path / "out"
    command = start(["analyze", tmp_path / "bundle.tar", "--out", out], tmpdir_of_command, largest_file=largest_file)
    _, complaint = command.communicate(timeout=60)
    assert command.returncode == Exit.UNAVAILABLE
    told, hint = complaint.splitlines()
    assert message in told and "File too large" in told
    assert "free some space" in hint
    assert (names_in(out), names_in(tmpdir_of_command)) == ([], [])


def large_bundle(path: Path) -> Path:
    """Some lines, then gigabytes that take no room on disk: enough work to be interrupted in."""
    size = 6 << 30
    with path.open("wb") as file:
        file.write(member("kernel/dmesg.current", OOM * 100_000) + header(b"var_log/messages", size=size))
        file.truncate(file.tell() + size + 1024)
    return path


def wait_until_unpacking(parent: Path, command: subprocess.Popen[str]) -> None:
    """Until the large member is being written."""
    for _ in range(4000):
        if any(found.stat().st_size > 1 << 20 for found in parent.glob(".affidavit-*/extracted/var_log/messages")):
            return
        assert command.poll() is None, command.communicate()
        time.sleep(0.005)
    raise AssertionError("it never began to unpack")


@pytest.mark.parametrize("extracting", [[], ["--extract"]], ids=["", "extract"])
def test_ctrl_c_leaves_no_working_folder_and_no_output(
    extracting: list[str], tmp_path: Path, tmpdir_of_command: Path
) -> None:
    bundle = large_bundle(tmp_path / "bundle.tar")
    out = tmp_path / "results" / "out"
    command = start(["analyze", bundle, "--out", out, *extracting], tmpdir_of_command)
    wait_until_unpacking(tmp_path / "results" if extracting else tmpdir_of_command, command)
    os.killpg(command.pid, signal.SIGINT)
    report, complaint = command.communicate(timeout=60)
    assert (command.returncode, report) == (Exit.INTERRUPTED, "")
    assert "Traceback" not in complaint
    assert (names_in(tmpdir_of_command), names_in(tmp_path / "results"), names_in(out)) == ([], ["out"], [])
    with pytest.raises(ProcessLookupError):
        os.killpg(command.pid, 0)


def test_published_files_are_for_their_owner_alone_and_follow_no_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    out = tmp_path / "out"
    out.mkdir()
    (out / "a.json").symlink_to(victim)
    (out / ".affidavit-a.json").symlink_to(victim)
    publish(out, {"a.json": b"new"})
    assert (victim.read_text(), (out / "a.json").read_text()) == ("precious", "new")
    assert not (out / "a.json").is_symlink()
    assert stat.S_IMODE((out / "a.json").stat().st_mode) == 0o600


def test_a_folder_is_not_published_over_a_dangling_link(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "target").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputRefused):
        publish_folder(tmp_path / "made", tmp_path / "target")


def test_runs_that_write_to_one_folder_take_turns(tmp_path: Path) -> None:
    order: list[str] = []
    started = threading.Event()

    def second() -> None:
        started.set()
        with exclusive(tmp_path):
            order.append("second")

    with exclusive(tmp_path):
        other = threading.Thread(target=second)
        other.start()
        started.wait(10)
        order.append("first")
    other.join(10)
    assert order == ["first", "second"]


KILLED = """
import os, sys, time
from pathlib import Path
from affidavit.bundle.workspace import workspace
with workspace(beside=Path(sys.argv[1]) / "x") as folder:
    (folder / "extracted").mkdir()
    print(folder, flush=True)
    time.sleep(600)
"""


def test_what_a_killed_run_left_goes_at_the_next_start_and_a_living_run_keeps_its_own(tmp_path: Path) -> None:
    runs = [
        subprocess.Popen([sys.executable, "-c", KILLED, tmp_path], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    folders = [Path((run.stdout or sys.stdin).readline().strip()) for run in runs]
    try:
        runs[0].kill()
        runs[0].wait()
        for folder in folders:
            os.utime(folder, (1, 1))
        (tmp_path / ".affidavit-half.part").write_text("half")
        with workspace(beside=tmp_path / "x"), exclusive(tmp_path):
            assert [folder.exists() for folder in folders] == [False, True]
            assert not (tmp_path / ".affidavit-half.part").exists()
    finally:
        runs[1].kill()
        runs[1].wait()
