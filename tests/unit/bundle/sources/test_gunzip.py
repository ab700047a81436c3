"""A damaged gzip file gives every byte in front of the damage, and says that there is damage."""

import gzip
import random
import tempfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.archives.raw_archives import flipped, gz
from tests.support.archives.sources import read_all

from affidavit.bundle.sources import gunzip
from affidavit.bundle.sources.compressed_file import CompressedFileSource
from affidavit.bundle.sources.compression import Compression
from affidavit.bundle.sources.gunzip import Gunzip
from affidavit.bundle.sources.source import MemberDamaged

LINES = b"".join(b"%d %08x the same words again\n" % (i, i * 2654435761 % 2**32) for i in range(4000))
DENSE = random.Random(7).randbytes(70_000)

contents = st.one_of(
    st.binary(max_size=300),
    st.integers(0, len(LINES)).map(lambda size: LINES[:size]),
    st.integers(0, len(DENSE)).map(lambda size: DENSE[:size]),
    st.integers(0, 200_000).map(bytes),
)


def decoded(data: bytes, *, piece: int = 65_536) -> tuple[bytes, str]:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        source = CompressedFileSource(Path(file.name), name="x", compression=Compression.GZIP)
        read = read_all(source, piece=piece)[0]
        source.close()
    return read.content, read.damage


def decodable(data: bytes) -> bytes:
    """What zlib makes of the beginning of a gzip file, fed so that nothing is held back."""
    decoder = zlib.decompressobj(wbits=31)
    return b"".join(decoder.decompress(data[at : at + 1]) for at in range(len(data)))


@given(contents, st.sampled_from([1, 7, 512, 65_536]), st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_an_undamaged_file_gives_its_content(content: bytes, piece: int, level: int) -> None:
    content = content[: piece * 2000]
    assert decoded(gz(content, level), piece=piece) == (content, "")


@given(contents, st.floats(0, 1, exclude_max=True))
@settings(max_examples=120, deadline=None)
def test_a_cut_file_gives_all_that_was_there_of_its_content_and_then_says_so(content: bytes, where: float) -> None:
    whole = gz(content)
    cut = whole[: max(1, int(where * len(whole)))]
    got, damage = decoded(cut)
    assert content.startswith(got)
    assert got == decodable(cut)
    assert damage


@given(contents, st.floats(0, 1, exclude_max=True), st.integers(1, 255))
@settings(max_examples=200, deadline=None)
def test_a_changed_byte_spoils_nothing_in_front_of_it_and_is_told(content: bytes, where: float, mask: int) -> None:
    whole = gz(content)
    at = int(where * len(whole))
    got, damage = decoded(flipped(whole, at, mask))
    sound = decodable(whole[:at])
    assert got.startswith(sound) or sound.startswith(got)
    assert len(got) >= len(sound) or at < 10
    # The name, time and system in the header may be anything.
    assert damage or got == content


@given(st.lists(contents, min_size=1, max_size=4), st.integers(0, 9000))
@settings(max_examples=40, deadline=None)
def test_several_streams_with_padding_are_one_file(parts: list[bytes], zeros: int) -> None:
    data = b"".join(gz(part) + bytes(zeros) for part in parts)
    assert decoded(data) == (b"".join(parts), "")


@given(st.lists(contents, min_size=2, max_size=4), st.integers(0, 9000))
@settings(max_examples=40, deadline=None)
def test_a_wrong_checksum_at_the_very_end_loses_nothing(parts: list[bytes], zeros: int) -> None:
    *sound, last = (gz(part) for part in parts)
    got, damage = decoded(b"".join(part + bytes(zeros) for part in sound) + flipped(last, -8))
    assert got == b"".join(parts)
    assert "incorrect data check" in damage


@pytest.mark.parametrize("garbage", [b"x", b"\x1f", b"not gzip at all" * 900, b"\0" * 9000 + b"!"])
def test_garbage_behind_the_data_is_told_and_costs_nothing(garbage: bytes) -> None:
    got, damage = decoded(gz(LINES) + garbage)
    assert got == LINES
    assert "follows" in damage or "damaged" in damage or "too early" in damage


def test_damage_is_told_again_to_whoever_reads_on(tmp_path: Path) -> None:
    (tmp_path / "x.gz").write_bytes(gz(LINES)[:-20])
    stream = Gunzip(tmp_path / "x.gz")
    view = memoryview(bytearray(1 << 20))
    while True:
        try:
            stream.readinto(view)
        except MemberDamaged as error:
            first = error
            break
    for _ in range(3):
        with pytest.raises(MemberDamaged) as again:
            stream.readinto(view)
        assert again.value is first
    stream.close()


def test_a_disk_error_is_damage_and_not_a_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class BrokenDisk(gzip.GzipFile):
        def readinto(self, _view: object) -> int:
            raise OSError(5, "Input/output error")

    (tmp_path / "x.gz").write_bytes(gz(LINES))
    monkeypatch.setattr(gunzip.igzip, "IGzipFile", BrokenDisk)
    with pytest.raises(MemberDamaged, match="Input/output error"):
        Gunzip(tmp_path / "x.gz").readinto(memoryview(bytearray(10)))
