"""Honest tars read as the standard library reads them; dishonest ones as far as they make sense."""

import contextlib
import io
import tarfile
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.archives.raw_archives import (
    END_MARK,
    GLOBAL_PAX,
    LONG_LINK,
    SYMLINK,
    flipped,
    gz,
    header,
    long_name,
    member,
    pax,
    pax_record,
    tar,
)
from tests.support.archives.sources import Read, read_all

from affidavit.bundle.safety.limits import UnpackLimits
from affidavit.bundle.sources.compression import Compression
from affidavit.bundle.sources.source import MemberKind
from affidavit.bundle.sources.tar import TarSource
from affidavit.bundle.sources.tar_headers import HeaderDamaged, pax_records

KINDS = {
    tarfile.REGTYPE: MemberKind.FILE,
    tarfile.AREGTYPE: MemberKind.FILE,
    tarfile.CONTTYPE: MemberKind.FILE,
    tarfile.DIRTYPE: MemberKind.FOLDER,
    tarfile.SYMTYPE: MemberKind.LINK,
    tarfile.LNKTYPE: MemberKind.LINK,
    tarfile.FIFOTYPE: MemberKind.DEVICE,
    tarfile.CHRTYPE: MemberKind.DEVICE,
    tarfile.BLKTYPE: MemberKind.DEVICE,
}

# Long enough for every way to write a long name; `ustar` can hold only what splits at a slash.
parts = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=60)
names = st.lists(parts, min_size=1, max_size=6).map("/".join)
short_names = st.text(st.sampled_from("abc.-_/é "), min_size=1, max_size=80)
ustar_names = short_names.filter(lambda name: len(name.encode()) < 100 and not name.endswith("/"))
keys = st.text(st.characters(codec="ascii", exclude_characters="=\n"), min_size=1)
long_formats = st.sampled_from([tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])


@st.composite
def honest_members(draw: st.DrawFn, names: st.SearchStrategy[str]) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(draw(names))
    info.type = draw(st.sampled_from(sorted(KINDS)))
    info.mtime = draw(st.integers(0, 4_000_000_000))
    content = draw(st.binary(max_size=1500)) if info.isreg() else b""
    info.size = len(content)
    info.linkname = draw(names) if info.issym() or info.islnk() else ""
    return info, content


def written(members: list[tuple[tarfile.TarInfo, bytes]], form: int) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=form) as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    return file.getvalue()


def read(data: bytes, *, limits: UnpackLimits | None = None, is_gzip: bool = False) -> tuple[list[Read], list[str]]:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        source = TarSource(
            Path(file.name), limits=limits or UnpackLimits(), compression=Compression.GZIP if is_gzip else None
        )
        found = read_all(source)
        source.close()
    return found, source.problems


def names_of(data: bytes, *, limits: UnpackLimits | None = None) -> list[str]:
    return [entry.member.name for entry in read(data, limits=limits)[0]]


def assert_read_alike(data: bytes, *, is_gzip: bool = False) -> None:
    found, problems = read(gz(data) if is_gzip else data, is_gzip=is_gzip)
    assert problems == []
    with tarfile.open(fileobj=io.BytesIO(data), encoding="utf-8", errors="surrogateescape") as archive:
        expected = archive.getmembers()
        assert len(found) == len(expected)
        for entry, info in zip(found, expected, strict=True):
            content = archive.extractfile(info) if info.isreg() else None
            assert entry.member.name.rstrip("/") == info.name.rstrip("/")
            assert entry.member.kind is KINDS[info.type]
            assert entry.member.detail == info.linkname
            assert entry.member.modified is not None and entry.member.modified.timestamp() == info.mtime
            assert (entry.content, entry.damage) == (content.read() if content is not None else b"", "")


def test_a_long_name_whose_beginning_ends_with_a_slash_is_a_file() -> None:
    info = tarfile.TarInfo(f"{'a' * 99}/b")
    info.type, info.size = tarfile.AREGTYPE, 1
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        (entry,), problems = read(written([(info, b"1")], form))
        assert (entry.member.name, entry.member.kind, entry.content) == (info.name, MemberKind.FILE, b"1")
        assert problems == []


def is_read_well_by_the_standard_library(info: tarfile.TarInfo) -> bool:
    """It takes the file of the test above for a folder, and its content for headers."""
    return info.type != tarfile.AREGTYPE or info.name.encode()[99:100] != b"/"


@given(
    st.lists(honest_members(names).filter(lambda made: is_read_well_by_the_standard_library(made[0])), max_size=6),
    long_formats,
    st.booleans(),
)
@settings(max_examples=120, deadline=None)
def test_pax_and_gnu_archives_read_as_the_standard_library_reads_them(
    members: list[tuple[tarfile.TarInfo, bytes]], form: int, is_gzip: bool
) -> None:
    assert_read_alike(written(members, form), is_gzip=is_gzip)


@given(st.lists(honest_members(ustar_names), max_size=6))
@settings(max_examples=60, deadline=None)
def test_ustar_archives_read_as_the_standard_library_reads_them(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    assert_read_alike(written(members, tarfile.USTAR_FORMAT))


def test_a_ustar_prefix_and_an_old_header_without_magic_are_understood() -> None:
    folder = "very-long-folder-name/" * 5
    info = tarfile.TarInfo(f"{folder}x.log")
    old = header(b"old.log", size=2, kind=b"\0", magic=bytes(8)) + b"hi".ljust(512, b"\0")
    data = written([(info, b"")], tarfile.USTAR_FORMAT)
    assert names_of(old + data) == ["old.log", f"{folder}x.log"]


def test_a_member_larger_than_octal_digits_can_say_takes_its_size_from_the_extension() -> None:
    size = 9 << 30
    limits = UnpackLimits(passed_over=1 << 20)
    found, problems = read(pax({"size": str(size)}) + header(b"big.log") + b"x" * 512, limits=limits)
    assert found[0].member.size == size
    assert found[0].damage == f"the archive ends {size - 512} bytes before the member does"
    assert len(problems) == 1


@given(st.dictionaries(keys, st.text(), max_size=8))
def test_pax_records_read_back(records: dict[str, str]) -> None:
    assert pax_records(b"".join(pax_record(key, value) for key, value in records.items())) == records


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_any_bytes_are_pax_records_or_refused_but_never_a_crash(junk: bytes, more: bytes) -> None:
    for payload in (junk, pax_record("path", junk) + more):
        with contextlib.suppress(HeaderDamaged):
            assert isinstance(pax_records(payload), dict)


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_a_tar_with_any_block_overwritten_still_reads_to_an_end(data: st.DataObject) -> None:
    whole = bytearray(
        tar(member("a", b"x" * 600), pax({"path": "b"}), member("b", b"y"), long_name(b"c" * 120), member("c", b"z"))
    )
    at = data.draw(st.integers(0, len(whole) - 40))
    whole[at : at + 40] = data.draw(st.binary(min_size=40, max_size=40))
    found, problems = read(bytes(whole))
    assert len(found) <= 12
    untouched = whole[:at].count(b"ustar")
    assert untouched == 0 or problems or [entry.member.name for entry in found][:1] == ["a"]


def test_any_cut_of_a_tar_is_told_and_gives_what_is_there() -> None:
    whole = tar(member("a", b"x" * 600), pax({"path": "b"}), member("short", b"y" * 600))
    for cut in range(0, len(whole) - len(END_MARK), 64):
        found, problems = read(whole[:cut])
        assert problems
        for entry, content in zip(found, (b"x" * 600, b"y" * 600), strict=False):
            assert content.startswith(entry.content)
            assert entry.damage or entry.content == content


def test_members_behind_a_damaged_header_are_found_again() -> None:
    data = tar(member("a"), flipped(member("bad.log", b"x" * 5000), 150, 1), member("b"))
    found, problems = read(data)
    assert [entry.member.name for entry in found] == ["a", "b"]
    assert problems == ["the header at byte 512 is damaged: bad.log: bad checksum"]


def test_looking_for_a_good_header_ends_at_the_limit() -> None:
    data = tar(member("a"), flipped(member("bad.log", b"x" * 50_000), 150, 1), member("b"))
    found, problems = read(data, limits=UnpackLimits(resync_bytes=8192))
    assert [entry.member.name for entry in found] == ["a"]
    assert problems[1] == "the rest of the archive was not read: no good header in 8192 bytes behind damaged ones"


def test_passing_over_unread_members_ends_at_the_limit() -> None:
    data = tar(*(member(f"{i}", b"x" * 10_000, kind=b"Z") for i in range(9)))
    found, problems = read(data, limits=UnpackLimits(passed_over=50_000))
    assert len(found) == 5
    assert problems == ["the rest of the archive was not read: the next member is 10240 bytes away"]


def test_headers_are_counted_with_their_extensions() -> None:
    data = tar(member("a"), pax({"comment": "x"}, kind=GLOBAL_PAX) * 20, member("b"))
    assert names_of(data, limits=UnpackLimits(headers=22)) == ["a", "b"]
    found, problems = read(data, limits=UnpackLimits(headers=21))
    assert [entry.member.name for entry in found] == ["a"]
    assert problems == ["the rest of the archive was not read: it has more than 21 headers"]


def test_an_extension_that_is_too_long_spoils_only_its_own_member() -> None:
    data = tar(long_name(b"n" * 3000) * 3, member("a", b"1"), member("b", b"2"))
    found, problems = read(data, limits=UnpackLimits(header_bytes=8192))
    assert [(entry.member.kind, entry.content) for entry in found] == [
        (MemberKind.UNREADABLE, b""),
        (MemberKind.FILE, b"2"),
    ]
    assert problems == []


def test_the_last_of_several_extensions_counts_and_lasts_for_one_member() -> None:
    data = tar(pax({"path": "one"}), pax({"path": "two"}), member("a"), member("b"))
    assert names_of(data) == ["two", "b"]


def test_a_long_link_target_is_read() -> None:
    found, _ = read(tar(long_name(b"t" * 300, kind=LONG_LINK), header(b"x", kind=SYMLINK, link=b"t" * 100)))
    assert found[0].member.detail == "t" * 300


def test_a_tail_of_zeros_is_honest_and_anything_else_is_told() -> None:
    assert read(tar(member("a")) + bytes(1 << 20))[1] == []
    assert read(tar(member("a")) + bytes(5000) + b"x")[1] == [
        "something follows the end mark of the archive; it was not read"
    ]


@pytest.mark.parametrize("mtime", ["nan", "inf", "-inf", "1e400", "-5", "9" * 400, "five"])
def test_an_impossible_time_is_no_time(mtime: str) -> None:
    found, problems = read(tar(pax({"mtime": mtime}), member("a", mtime=b"77777777777")))
    assert (found[0].member.modified, problems) == (None, [])
