"""Zip members read as the standard library reads them, and damaged ones further than it does."""

import io
import stat
import struct
import tempfile
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.archives.raw_archives import ZipEntry, deflated_zeros, zipped
from tests.support.archives.sources import Read, by_path, read_all, unpack_into

from affidavit.bundle.safety.limits import UnpackLimits
from affidavit.bundle.sources.source import MemberKind
from affidavit.bundle.sources.zip import ZipSource
from affidavit.errors import InputRefused

LINES = b"".join(b"%d %08x a line of a log\n" % (i, i * 2654435761 % 2**32) for i in range(5000))
LOG = ZipEntry(name=b"kernel/dmesg.current", content=LINES)

names = st.text(st.characters(codec="utf-8", exclude_characters="\\\0"), min_size=1, max_size=40)
methods = st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])


def source_of(data: bytes, folder: Path, *, limits: UnpackLimits | None = None) -> ZipSource:
    (folder / "x.zip").write_bytes(data)
    return ZipSource(folder / "x.zip", limits=limits or UnpackLimits())


def read(data: bytes) -> list[Read]:
    with tempfile.TemporaryDirectory() as folder:
        source = source_of(data, Path(folder))
        found = read_all(source)
        source.close()
    return found


@given(st.dictionaries(names, st.tuples(st.binary(max_size=3000), methods), max_size=6))
@settings(max_examples=60, deadline=None)
def test_members_read_as_the_standard_library_reads_them(members: dict[str, tuple[bytes, int]]) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, (content, method) in members.items():
            archive.writestr(name, content, compress_type=method)
    found = read(file.getvalue())
    assert [entry.member.name for entry in found] == list(members)
    for entry, (content, _) in zip(found, members.values(), strict=True):
        is_folder = entry.member.name.endswith("/")
        assert entry.member.kind is (MemberKind.FOLDER if is_folder else MemberKind.FILE)
        assert is_folder or (entry.content, entry.damage, entry.member.size) == (content, "", len(content))


def test_a_zip_written_to_a_pipe_is_read() -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def seek(self, *_: int) -> int:
            raise io.UnsupportedOperation

        def tell(self) -> int:
            raise io.UnsupportedOperation

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.log", LINES)
    assert [(entry.content, entry.damage) for entry in read(pipe.getvalue())] == [(LINES, "")]


def test_backslashes_of_windows_tools_separate_folders() -> None:
    found = read(zipped(ZipEntry(name=b"logs\\kubelet\\", content=b""), ZipEntry(name=b"logs\\kubelet\\x.log")))
    assert [(entry.member.name, entry.member.kind) for entry in found] == [
        ("logs/kubelet/", MemberKind.FOLDER),
        ("logs/kubelet/x.log", MemberKind.FILE),
    ]


@pytest.mark.parametrize("at", [0, 3, 1000, 20_000, 40_000])
def test_a_damaged_member_gives_all_its_bytes_before_the_damage(at: int) -> None:
    packed = LOG.packed
    broken = packed[:at] + b"\xff" * 60 + packed[at + 60 :]
    entry = read(zipped(ZipEntry(name=b"x", content=LINES, raw=broken)))[0]
    sound = zlib.decompressobj(wbits=-15).decompress(packed[:at])
    assert entry.damage and entry.content.startswith(sound)
    assert len(sound) > at or at < 1000


@pytest.mark.parametrize("claimed", [0, 5, len(LINES) - 1, len(LINES) + 1, 4_000_000_000])
def test_a_size_that_lies_hides_no_byte(claimed: int) -> None:
    entry = read(zipped(ZipEntry(name=b"x", content=LINES, claimed_size=claimed)))[0]
    assert entry.content == LINES
    assert entry.damage == f"the archive says it has {claimed} bytes, it has {len(LINES)}"


def test_a_wrong_checksum_is_told_behind_the_last_byte() -> None:
    for method in (0, 8):
        entry = read(zipped(ZipEntry(name=b"x", content=LINES, method=method, crc=7)))[0]
        assert (entry.content, entry.damage) == (LINES, "its checksum does not match: it was damaged or changed")


def test_a_stored_member_that_claims_more_than_the_archive_holds_ends_with_it() -> None:
    data = zipped(ZipEntry(name=b"x", content=LINES, method=0))
    listed = data.rindex(b"PK\x01\x02")
    data = data[: listed + 20] + struct.pack("<L", 1 << 30) + data[listed + 24 :]
    entry = read(data)[0]
    assert entry.content.startswith(LINES) and "bytes before the member does" in entry.damage


def test_a_list_that_lies_about_its_own_place_moves_no_member_out_of_the_file() -> None:
    data = zipped(LOG)
    end = data.rindex(b"PK\x05\x06")
    place = struct.unpack_from("<L", data, end + 16)[0]
    for lie in (0, place + 1000, 0xFFFFFFF0):
        moved = data[: end + 16] + struct.pack("<L", lie) + data[end + 20 :]
        assert [entry.damage or entry.member.detail for entry in read(moved)] == [
            "it is not where the archive's list says"
        ]


def test_bytes_listed_twice_are_read_once() -> None:
    again = ZipEntry(name=b"copy", content=LINES, raw=LOG.packed, at=0)
    first, second, third = read(zipped(LOG, again, ZipEntry(name=b"last", content=LINES)))
    assert (first.content, third.content) == (LINES, LINES)
    assert (second.member.kind, second.member.detail) == (
        MemberKind.UNREADABLE,
        "its bytes overlap those of another member",
    )


@pytest.mark.parametrize("method", [1, 9, 12, 14, 93, 99])
def test_a_method_that_could_inflate_without_bound_is_not_used(method: int) -> None:
    entry = read(zipped(ZipEntry(name=b"x", raw=b"whatever", method=method)))[0]
    assert entry.member.kind is MemberKind.UNREADABLE
    assert entry.member.detail == f"compression method {method} is not supported"


def test_links_devices_and_encrypted_members_are_told_by_their_kind() -> None:
    found = read(
        zipped(
            ZipEntry(name=b"link", mode=stat.S_IFLNK | 0o777),
            ZipEntry(name=b"pipe", mode=stat.S_IFIFO | 0o644),
            ZipEntry(name=b"secret", flags=1),
            ZipEntry(name=b"file", mode=stat.S_IFREG | 0o644),
        )
    )
    assert [entry.member.kind for entry in found] == [
        MemberKind.LINK,
        MemberKind.DEVICE,
        MemberKind.ENCRYPTED,
        MemberKind.FILE,
    ]


def test_a_large_member_that_compresses_well_is_no_bomb_and_one_that_compresses_too_well_is(tmp_path: Path) -> None:
    limits = UnpackLimits(ratio=20, ratio_floor=1 << 16)
    honest = ZipEntry(name=b"var_log/honest.log", content=LINES * 80)
    bomb = ZipEntry(name=b"var_log/bomb.log", raw=deflated_zeros(30), claimed_size=30 << 20)
    files = by_path(unpack_into(tmp_path / "w", source_of(zipped(honest, bomb, LOG), tmp_path), limits=limits))
    assert files["var_log/honest.log"].reason is None
    assert files["var_log/bomb.log"].reason == "refused: it unpacks to more than 20 times its compressed size"
    assert files["kernel/dmesg.current"].reason is None


@pytest.mark.parametrize(
    "tail",
    [
        struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, 0xFFFFFFFF, 0, 0),
        struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, 200_000_000, 0, 0),
        struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, 1 << 40, 0)
        + struct.pack("<4sLQL", b"PK\x06\x07", 0, 0, 1)
        + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, 46, 0, 0),
    ],
    ids=["marker", "large", "zip64"],
)
def test_a_list_of_members_that_claims_to_be_huge_is_not_read(tail: bytes, tmp_path: Path) -> None:
    with pytest.raises(InputRefused, match=r"lists more members|damaged zip"):
        source_of(LOG.local() + tail, tmp_path)


def test_more_members_than_a_bundle_has_are_refused(tmp_path: Path) -> None:
    entries = [ZipEntry(name=b"%d" % i, method=0) for i in range(11)]
    assert len(read_all(source_of(zipped(*entries[:10]), tmp_path, limits=UnpackLimits(members=10)))) == 10
    with pytest.raises(InputRefused, match="at most 10"):
        source_of(zipped(*entries), tmp_path, limits=UnpackLimits(members=10))


@given(st.integers(0, 400), st.binary(min_size=1, max_size=8))
@settings(max_examples=200, deadline=None)
def test_a_zip_with_any_bytes_overwritten_is_read_or_refused_but_never_a_crash(at: int, junk: bytes) -> None:
    whole = zipped(ZipEntry(name=b"a.log", content=b"x" * 90), ZipEntry(name=b"b.log", content=b"y" * 90, method=0))
    at %= len(whole)
    try:
        found = read(whole[:at] + junk + whole[at + len(junk) :])
    except InputRefused as refusal:
        assert refusal.hint
        return
    assert len(found) <= 2
