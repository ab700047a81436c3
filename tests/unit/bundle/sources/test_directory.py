"""A directory is read where it lies, and nothing in it leads elsewhere."""

import gzip
import lzma
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.archives.raw_archives import gz, member, tar
from tests.support.archives.sources import by_path, read_all, unpack_into
from tests.support.knowledge.packs import a_pack

from affidavit.bundle.byte_range_reader import head_of, span_of
from affidavit.bundle.manifest import FileStatus
from affidavit.bundle.safety.limits import UnpackLimits
from affidavit.bundle.sources import directory
from affidavit.bundle.sources.compression import Compression, decompressed
from affidavit.bundle.sources.directory import DirectorySource
from affidavit.bundle.sources.source import MemberDamaged, MemberKind
from affidavit.checks.computation_results import NotComputable
from affidavit.checks.numbered_lines import read_document
from affidavit.errors import EvidenceUnavailable
from affidavit.index.scanning.parts import Cutter
from affidavit.index.scanning.rule_matching import RuleSlots
from affidavit.index.scanning.scan import PartScan, scan_buffer

LOG = b"a line\n" * 1000


def write(root: Path, **files: bytes) -> Path:
    for name, content in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


def test_files_are_listed_by_folder_and_read_whole(tmp_path: Path) -> None:
    write(tmp_path, kernel__dmesg=LOG, a=b"", var__log__x=LOG * 50)
    found = read_all(DirectorySource(tmp_path))
    assert [(entry.member.name, entry.content) for entry in found] == [
        ("a", b""),
        ("kernel/dmesg", LOG),
        ("var/log/x", LOG * 50),
    ]
    assert [entry.member.location for entry in found] == [
        tmp_path / "a",
        tmp_path / "kernel/dmesg",
        tmp_path / "var/log/x",
    ]


def test_names_are_those_of_the_members(tmp_path: Path) -> None:
    source = DirectorySource(write(tmp_path, kernel__dmesg=LOG, a=b"", var__log__x=LOG))
    assert list(source.names()) == [entry.member.name for entry in read_all(source)]


def test_links_are_refused_and_what_they_lead_to_is_not_read(tmp_path: Path) -> None:
    write(tmp_path, outside__secret=b"secret", bundle__kernel__dmesg=LOG)
    (tmp_path / "bundle" / "file").symlink_to(tmp_path / "outside" / "secret")
    (tmp_path / "bundle" / "folder").symlink_to(tmp_path / "outside")
    (tmp_path / "bundle" / "loop").symlink_to(tmp_path / "bundle")
    files = by_path(unpack_into(tmp_path / "work", DirectorySource(tmp_path / "bundle")))
    assert set(files) == {"file", "folder", "loop", "kernel/dmesg"}
    for name in ("file", "folder", "loop"):
        assert (files[name].status, files[name].location) == (FileStatus.SKIPPED, None)
    assert files["file"].reason == "refused: it is a link (it leads out of the bundle)"
    assert files["folder"].reason == files["loop"].reason == "refused: it is a link"


def test_a_link_put_in_place_of_a_file_after_listing_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path, outside=b"secret", bundle__x=LOG)
    source = DirectorySource(tmp_path / "bundle")
    members = source.members()
    assert next(members).kind is MemberKind.FILE
    (tmp_path / "bundle" / "x").unlink()
    (tmp_path / "bundle" / "x").symlink_to(tmp_path / "outside")
    with pytest.raises(Exception, match="it cannot be read: Too many levels of symbolic links"):
        source.readinto(memoryview(bytearray(10)))


def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    write(tmp_path, bundle__x=LOG)
    os.mkfifo(tmp_path / "bundle" / "pipe")
    files = by_path(unpack_into(tmp_path / "work", DirectorySource(tmp_path / "bundle")))
    assert files["pipe"].reason == "refused: it is a device, pipe or other special file"
    assert files["x"].reason is None


def test_a_file_that_cannot_be_opened_is_failed_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_open = os.open

    def refuse(path: Path, *rest: int, dir_fd: int | None = None) -> int:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied")
        return real_open(path, *rest, dir_fd=dir_fd)

    monkeypatch.setattr(directory.os, "open", refuse)
    write(tmp_path, bundle__locked=LOG, bundle__x=LOG)
    files = by_path(unpack_into(tmp_path / "work", DirectorySource(tmp_path / "bundle")))
    assert (files["locked"].status, files["locked"].reason) == (
        FileStatus.FAILED,
        "it cannot be read: Permission denied",
    )
    assert files["x"].status is FileStatus.EXTRACTED


def test_a_file_that_goes_away_is_failed_with_the_reason(tmp_path: Path) -> None:
    write(tmp_path, a=LOG, b=LOG)
    source = DirectorySource(tmp_path)
    members = source.members()
    next(members)
    (tmp_path / "a").unlink()
    with pytest.raises(Exception, match="it cannot be read: No such file or directory"):
        source.readinto(memoryview(bytearray(10)))
    (tmp_path / "b").unlink()
    gone = next(members)
    assert (gone.kind, gone.detail) == (MemberKind.UNREADABLE, "No such file or directory")


def test_a_folder_that_cannot_be_listed_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_open = os.open

    def refuse(path: Path, *rest: int, dir_fd: int | None = None) -> int:
        if Path(path).name == "loc\nked":
            raise PermissionError(13, "Permission denied")
        return real_open(path, *rest, dir_fd=dir_fd)

    write(tmp_path, x=LOG)
    (tmp_path / "loc\nked").mkdir()
    monkeypatch.setattr(directory.os, "open", refuse)
    source = DirectorySource(tmp_path)
    assert [entry.member.name for entry in read_all(source)] == ["x"]
    assert source.problems == ["loc\\nked/ cannot be listed: Permission denied"]


@pytest.fixture
def deep_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Removed here, because pytest would call itself once per folder."""
    root = tmp_path / "deep"
    root.mkdir()
    try:
        monkeypatch.chdir(root)
        for _ in range(1200):
            Path("d").mkdir()
            os.chdir("d")
        Path("x.log").write_bytes(LOG)
        monkeypatch.undo()
        yield root
    finally:
        subprocess.run(["rm", "-rf", root], check=True)


def test_a_tree_deeper_than_calls_can_go_is_walked(deep_tree: Path, tmp_path: Path) -> None:
    unpacked = unpack_into(tmp_path / "work", DirectorySource(deep_tree))
    assert [file.reason for file in unpacked.files] == ["refused: its name is too long"]


def test_archives_in_a_directory_are_read_in_place(tmp_path: Path) -> None:
    write(tmp_path, **{"bundle__x.log.gz": gz(LOG), "bundle__y.tar": tar(member("z.log", LOG))})
    files = by_path(unpack_into(tmp_path / "work", DirectorySource(tmp_path / "bundle")))
    assert {path: file.size for path, file in files.items()} == {"x.log.gz": len(LOG), "y.tar/z.log": len(LOG)}
    assert sorted(path.name for path in (tmp_path / "bundle").iterdir()) == ["x.log.gz", "y.tar"]


def test_a_directory_of_rotated_logs_alone_is_no_bomb(tmp_path: Path) -> None:
    lines = b"".join(b"%08x %d\n" % (i * 2654435761 % 2**32, i) for i in range(4000))
    write(tmp_path, **{f"bundle__{i}.log.gz": gz(lines) for i in range(20)})
    limits = UnpackLimits(ratio=5, ratio_floor=1000)
    unpacked = unpack_into(tmp_path / "work", DirectorySource(tmp_path / "bundle"), limits=limits)
    assert [file.reason for file in unpacked.files] == [None] * 20


class Swap:
    """A folder of the bundle that an attacker replaces by a link to a folder with a file of the same name."""

    def __init__(self, folder: Path) -> None:
        write(folder, outside__messages=b"root:secret\n", bundle__var_log__messages=LOG, bundle__a=LOG)
        self.outside, self.bundle = folder / "outside", folder / "bundle"

    def do(self) -> None:
        (self.bundle / "var_log").rename(self.bundle.parent / "moved")
        (self.bundle / "var_log").symlink_to(self.outside)


def test_a_parent_folder_that_becomes_a_link_is_not_followed_while_members_are_read(tmp_path: Path) -> None:
    swap = Swap(tmp_path)
    source = DirectorySource(swap.bundle)
    members = source.members()
    names = [next(members).name, next(members).name]
    assert names == ["a", "var_log/messages"]
    swap.do()
    with pytest.raises(MemberDamaged, match="it cannot be read"):
        source.readinto(memoryview(bytearray(100)))


def test_a_parent_folder_that_becomes_a_link_is_not_listed(tmp_path: Path) -> None:
    swap = Swap(tmp_path)
    source = DirectorySource(swap.bundle)
    members = source.members()
    next(members)
    swap.do()
    assert list(members) == []
    assert source.problems == ["var_log/ cannot be listed: Not a directory"]


def test_bytes_read_later_do_not_come_through_a_link(tmp_path: Path) -> None:
    """The scan, the checks and the evidence open files again, minutes after they were listed."""
    swap = Swap(tmp_path)
    unpacked = unpack_into(tmp_path / "work", DirectorySource(swap.bundle))
    location = by_path(unpacked)["var_log/messages"].location
    assert location is not None
    swap.do()
    assert head_of(location, 100) == b""
    assert isinstance(read_document("var_log/messages", location), NotComputable)
    with pytest.raises(EvidenceUnavailable):
        span_of(location, 0, 5)
    with pytest.raises(OSError):
        (part,) = Cutter("var_log/messages", location, "var_log/messages").finished(5)
        PartScan(part, RuleSlots(a_pack()), scan_buffer())


def test_a_compressed_log_is_not_read_through_a_link(tmp_path: Path) -> None:
    swap = Swap(tmp_path)
    for ending, pack in (("gz", gzip.compress), ("xz", lzma.compress)):
        (swap.bundle / "var_log" / f"messages.{ending}").write_bytes(pack(LOG))
        (swap.outside / f"messages.{ending}").write_bytes(pack(b"root:secret\n"))
    source = DirectorySource(swap.bundle)
    found = list(source.members())
    swap.do()
    for each in found:
        if each.location is not None and each.location.suffix in (".gz", ".xz"):
            with pytest.raises(OSError):
                decompressed(each.location, Compression.GZIP if each.location.suffix == ".gz" else Compression.XZ)
