"""Members become files inside one folder, with digests, or entries with a reason; archives inside become folders."""

import hashlib
import itertools
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.archives.bundles import NoProgress
from tests.support.archives.raw_archives import SYMLINK, flipped, gz, gz_zeros, header, member, tar
from tests.support.archives.sources import by_path, unpack_into

from affidavit.bundle import members_to_disk
from affidavit.bundle.manifest import FileStatus
from affidavit.bundle.safety.limits import UnpackLimits
from affidavit.bundle.sources.compression import compression_of
from affidavit.bundle.sources.tar import TarSource
from affidavit.bundle.unpack import Unpacked, UnpackedFile, unpack
from affidavit.errors import EvidenceUnavailable
from affidavit.evidence.coverage import SkipReason

LOG = b"".join(b"%d %08x a line of a log\n" % (i, i * 2654435761 % 2**32) for i in range(3000))


def unpacked(data: bytes, folder: Path, *, limits: UnpackLimits | None = None) -> Unpacked:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bundle").write_bytes(data)
    source = TarSource(folder / "bundle", limits=limits or UnpackLimits(), compression=compression_of(data))
    return unpack_into(folder / "work", source, limits=limits)


def content_of(file: UnpackedFile) -> bytes:
    assert file.location is not None
    return file.location.read_bytes()


def stored_in(folder: Path) -> list[str]:
    root = folder / "work"
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir())


def test_members_become_files_with_their_digests(tmp_path: Path) -> None:
    result = unpacked(tar(member("./kernel/dmesg.current", LOG), member("empty", b"")), tmp_path)
    files = by_path(result)
    assert [file.path for file in result.files] == ["empty", "kernel/dmesg.current"]
    for path, content in (("kernel/dmesg.current", LOG), ("empty", b"")):
        digests = files[path].digests
        assert digests is not None
        assert (content_of(files[path]), digests.sha256) == (content, hashlib.sha256(content).hexdigest())
        assert digests.md5 == hashlib.md5(content, usedforsecurity=False).hexdigest()
    assert stored_in(tmp_path) == ["extracted/empty", "extracted/kernel/dmesg.current"]


def test_a_rotated_log_is_known_by_its_own_name_and_stored_below_it(tmp_path: Path) -> None:
    files = by_path(unpacked(tar(member("var_log/x.log.gz", gz(LOG))), tmp_path))
    rotated = files["var_log/x.log.gz"]
    assert (rotated.stored_as, rotated.size, content_of(rotated)) == ("var_log/x.log.gz/x.log", len(LOG), LOG)
    assert stored_in(tmp_path) == ["extracted/var_log/x.log.gz/x.log"]


def test_a_nested_archive_becomes_a_folder_and_its_rotated_logs_are_read_too(tmp_path: Path) -> None:
    inner = tar(member("a.log", LOG), member("old/b.log.gz", gz(LOG)))
    data = tar(member("pods.tar.gz", gz(inner)), member("plain.tar", inner), member("other.tgz", gz(inner)))
    files = by_path(unpacked(data, tmp_path))
    names = itertools.product(("pods.tar.gz", "plain.tar", "other.tgz"), ("a.log", "old/b.log.gz"))
    assert set(files) == {f"{archive}/{name}" for archive, name in names}
    assert all(content_of(file) == LOG and file.reason is None for file in files.values())


@pytest.mark.parametrize("name", ["x.gz", "x.tar.gz", "x.tgz", "x.tar"])
def test_what_is_an_archive_by_name_only_is_stored_as_it_is(name: str, tmp_path: Path) -> None:
    files = by_path(unpacked(tar(member(name, LOG)), tmp_path))
    assert (content_of(files[name]), files[name].stored_as, files[name].reason) == (LOG, name, None)


def test_archives_are_opened_as_deep_as_the_limit_and_no_deeper(tmp_path: Path) -> None:
    content = tar(member("x.log", LOG))
    for level in range(3):
        content = tar(member(f"{level}.tar", content))
    result = unpacked(content, tmp_path, limits=UnpackLimits(depth=2))
    assert [(file.path, file.reason) for file in result.files] == [
        ("2.tar/1.tar/0.tar", "refused: archives nested more than 2 deep")
    ]
    deeper = unpacked(content, tmp_path / "again", limits=UnpackLimits(depth=3))
    assert [(file.path, file.reason) for file in deeper.files] == [("2.tar/1.tar/0.tar/x.log", None)]


def test_a_damaged_rotated_log_keeps_what_could_be_read(tmp_path: Path) -> None:
    files = by_path(unpacked(tar(member("x.log.gz", gz(LOG)[:20_000])), tmp_path))
    cut = files["x.log.gz"]
    assert (cut.status, cut.reason, cut.skip) == (
        FileStatus.FAILED,
        "the compressed data ends too early",
        SkipReason.UNREADABLE,
    )
    assert 20_000 < cut.size < len(LOG) and LOG.startswith(content_of(cut))
    assert cut.digests is not None and cut.digests.sha256 == hashlib.sha256(content_of(cut)).hexdigest()


def test_troubles_of_a_nested_archive_name_it(tmp_path: Path) -> None:
    inner = tar(member("a.log", LOG), flipped(member("b.log", LOG), 150, 1), member("c.log", LOG))
    result = unpacked(tar(member("pods.tar", inner), member("z.log", LOG)), tmp_path)
    assert set(by_path(result)) == {"pods.tar/a.log", "pods.tar/c.log", "z.log"}
    assert [problem.split(" is damaged")[0] for problem in result.problems] == [
        f"pods.tar: the header at byte {512 + len(LOG) + -len(LOG) % 512}"
    ]


def test_refused_members_have_paths_of_their_own(tmp_path: Path) -> None:
    link = header(b"a", kind=SYMLINK, link=b"x")
    data = tar(link, member("a", b"1"), member("a", b"2"), member("a", b"3"), member("a (2)", b"4"), member("../a") * 2)
    result = unpacked(data, tmp_path)
    assert [(file.path, file.location is not None) for file in result.files] == [
        ("../a", False),
        ("../a (2)", False),
        ("a", True),
        ("a (2)", True),
        ("a (3)", False),
        ("a (4)", False),
        ("a (5)", False),
    ]
    assert content_of(by_path(result)["a"]) == b"1"


@given(st.permutations([("b.log", LOG), ("a/c.log", b""), ("x.log.gz", gz(LOG)), ("d.tar", tar(member("e", b"1")))]))
@settings(max_examples=10, deadline=None)
def test_the_order_of_members_changes_nothing(members: list[tuple[str, bytes]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        result = unpacked(tar(*(member(*item) for item in members)), Path(folder))
    assert [file.path for file in result.files] == ["a/c.log", "b.log", "d.tar/e", "x.log.gz"]


def test_members_beyond_the_limit_are_not_read_and_that_is_told(tmp_path: Path) -> None:
    data = tar(*(member(f"{i}.log", LOG) for i in range(9)))
    result = unpacked(data, tmp_path, limits=UnpackLimits(members=5))
    assert len(result.files) == 5
    assert result.problems == ("the rest of the archive was not read: the bundle has more than 5 members",)


def test_members_of_nested_archives_count_too(tmp_path: Path) -> None:
    inner = tar(*(member(f"{i}.log") for i in range(9)))
    result = unpacked(tar(member("a.tar", inner), member("b.log")), tmp_path, limits=UnpackLimits(members=5))
    assert len(result.files) == 4
    assert [problem.startswith("a.tar: ") for problem in result.problems] == [True, False]


def test_a_bundle_stops_at_its_total_size(tmp_path: Path) -> None:
    data = tar(member("a.log", LOG), member("b.log", LOG), member("c.log", b"small"))
    files = by_path(unpacked(data, tmp_path, limits=UnpackLimits(total_bytes=len(LOG) + 100)))
    assert files["a.log"].status is files["c.log"].status is FileStatus.EXTRACTED
    assert files["b.log"].reason == f"refused: the bundle unpacks to more than {len(LOG) + 100} bytes"
    assert stored_in(tmp_path) == ["extracted/a.log", "extracted/c.log"]


SMALL = UnpackLimits(ratio=50, ratio_floor=3 << 20, dropped_bytes=1 << 30)


def test_a_bomb_leaves_no_bytes_and_members_behind_it_are_taken(tmp_path: Path) -> None:
    bomb = gz(header(b"bomb.log", size=80 << 20)) + gz_zeros(80)
    files = by_path(unpacked(gz(member("a.log", LOG)) + bomb + gz(tar(member("b.log", LOG))), tmp_path, limits=SMALL))
    assert files["bomb.log"].reason == "refused: it unpacks to more than 50 times its compressed size"
    assert stored_in(tmp_path) == ["extracted/a.log", "extracted/b.log"]


@pytest.mark.parametrize("is_gzip", [True, False])
def test_bombs_inside_are_paid_for_by_the_outermost_archive(is_gzip: bool, tmp_path: Path) -> None:
    data = tar(*(member(f"{i}.log.gz", gz_zeros(2)) for i in range(20)), member("b.log", LOG))
    files = by_path(unpacked(gz(data) if is_gzip else data, tmp_path, limits=SMALL))
    stored = sum(file.size for file in files.values())
    assert stored <= SMALL.ratio_floor + 50 * (tmp_path / "bundle").stat().st_size
    assert content_of(files["b.log"]) == LOG
    assert files["0.log.gz"].reason is None and files["19.log.gz"].reason is not None


def test_an_archive_inside_that_is_itself_a_bomb_is_not_opened(tmp_path: Path) -> None:
    inner = tar(header(b"big.log", size=80 << 20), bytes(80 << 20))
    outer = (
        gz(header(b"inner.tar", size=len(inner)) + inner[:512]) + gz_zeros(80) + gz(bytes(1024) + tar(member("b.log")))
    )
    files = by_path(unpacked(outer, tmp_path, limits=SMALL))
    assert files["inner.tar"].reason == "refused: it unpacks to more than 50 times its compressed size"
    assert files["b.log"].reason is None
    assert stored_in(tmp_path) == ["extracted/b.log"]


def test_after_too_many_bombs_the_rest_is_not_read(tmp_path: Path) -> None:
    bombs = b"".join(gz(header(b"%d.log" % i, size=20 << 20)) + gz_zeros(20) for i in range(9))
    limits = UnpackLimits(ratio=50, ratio_floor=3 << 20, dropped_bytes=20 << 20)
    result = unpacked(bombs + gz(tar(member("b.log", LOG))), tmp_path, limits=limits)
    assert result.problems == ("the rest of the archive was not read: too many of its members unpack to too much",)
    assert len(result.files) < 9


def test_the_newest_believable_time_is_kept(tmp_path: Path) -> None:
    times = (1_700_000_000, 1_768_471_200, 77_777_777_777)
    result = unpacked(tar(*(member(f"{i}", mtime=mtime) for i, mtime in enumerate(times))), tmp_path)
    assert result.modified is not None and result.modified.timestamp() == 1_768_471_200


@pytest.mark.parametrize("name", ["x.log", "x.log.gz", "x.tar"])
@pytest.mark.parametrize("failing", ["open", "write", "mkdir"])
def test_a_full_disk_ends_the_work_with_a_hint(
    name: str, failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    content = {"x.log": LOG, "x.log.gz": gz(LOG), "x.tar": tar(member("y.log", LOG))}[name]
    (tmp_path / "bundle").write_bytes(tar(member(name, content)))
    source = TarSource(tmp_path / "bundle", limits=UnpackLimits())
    monkeypatch.setattr(*((Path, "mkdir") if failing == "mkdir" else (members_to_disk.os, failing)), full)
    with pytest.raises(EvidenceUnavailable, match="the disk is full") as raised:
        unpack(source, into=tmp_path / "extracted", limits=UnpackLimits(), watcher=Watched(), progress=NoProgress())
    assert "TMPDIR" in raised.value.hint


class Watched:
    """Remembers how far each file had grown when told, and reads it right then."""

    def __init__(self) -> None:
        self.sizes: dict[str, list[int]] = {}
        self.whole: dict[str, bytes] = {}

    def grown(self, path: str, location: Path, size: int, read_as: str) -> None:
        assert location.stat().st_size >= size
        self.sizes.setdefault(path, []).append(size)

    def finished(self, path: str, location: Path, size: int, read_as: str) -> None:
        self.whole[path] = location.read_bytes()
        assert len(self.whole[path]) == size


def test_readable_files_are_announced_as_they_grow_and_others_are_not(tmp_path: Path) -> None:
    long = LOG * 40
    data = tar(
        member("kernel/dmesg.current", long),
        member("kernel/dmesg.boot", b"\x7fELF" + long),
        member("kubelet/config.json", LOG),
        member("photo.jpg", LOG),
        member("var_log/messages.1.gz", gz(LOG)[:-10]),
    )
    (tmp_path / "bundle").write_bytes(data)
    source = TarSource(tmp_path / "bundle", limits=UnpackLimits())
    watched = Watched()
    unpack(source, into=tmp_path / "extracted", limits=UnpackLimits(), watcher=watched, progress=NoProgress())
    source.close()
    assert watched.whole["kernel/dmesg.current"] == long
    assert LOG.startswith(watched.whole["var_log/messages.1.gz"])
    assert set(watched.whole) == {"kernel/dmesg.current", "var_log/messages.1.gz"}
    growth = watched.sizes["kernel/dmesg.current"]
    assert growth == sorted(growth) and growth[-1] == len(long)


def test_room_is_not_reserved_for_a_size_that_is_only_claimed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reserved: list[int] = []
    monkeypatch.setattr(os, "posix_fallocate", lambda _file, _at, size: reserved.append(size), raising=False)
    honest = member("honest.log", LOG * 20)
    unpacked(tar(honest, header(b"liar.log", size=1 << 30)), tmp_path)
    assert reserved == [len(LOG) * 20]


def test_files_are_private_to_the_user(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        file = by_path(unpacked(tar(member("a/b.log", LOG)), tmp_path))["a/b.log"]
    finally:
        os.umask(before)
    assert file.location is not None
    assert (file.location.stat().st_mode & 0o777, file.location.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_output_and_logs_in_utf_16_are_read(tmp_path: Path) -> None:
    wide = "\ufeffName   : kubelet\r\nStatus : Stopped\r\n".encode("utf-16-le")
    files = by_path(unpacked(tar(member("system/services", wide), member("eks/bootstrap.log", wide)), tmp_path))
    assert (files["system/services"].skip, content_of(files["system/services"])) == (None, wide)
    assert files["eks/bootstrap.log"].skip is None
