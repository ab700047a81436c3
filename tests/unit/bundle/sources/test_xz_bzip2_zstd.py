"""xz, bzip2 and zstd: every byte before the damage, in bounded steps and bounded memory."""

import bz2
import lzma
import random
from pathlib import Path

import pytest
from backports import zstd
from tests.support.archives.raw_archives import member, tar
from tests.support.archives.sources import by_path, read_rest, unpack_into

from affidavit.bundle.safety.limits import UnpackLimits
from affidavit.bundle.sources.compressed_file import CompressedFileSource
from affidavit.bundle.sources.compression import Compression, compression_of
from affidavit.bundle.sources.tar import TarSource
from affidavit.evidence.coverage import SkipReason

LINES = b"".join(b"Jan 15 10:25:03 host kernel: %d %08x words\n" % (i, i * 2654435761 % 2**32) for i in range(20_000))
NOISE = random.Random(3).randbytes(300_000)
PACK = {Compression.XZ: lzma.compress, Compression.BZIP2: bz2.compress, Compression.ZSTD: zstd.compress}
FORMS = list(PACK)


def read(data: bytes, folder: Path, *, piece: int = 65_536) -> tuple[bytes, str]:
    path = folder / "packed"
    path.write_bytes(data)
    form = compression_of(data)
    assert form is not None
    source = CompressedFileSource(path, name="x", compression=form)
    next(source.members())
    try:
        return read_rest(source, piece=piece)
    finally:
        source.close()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "content", [b"one line\n", LINES, NOISE, bytes(3_000_000)], ids=["short", "lines", "noise", "zeros"]
)
def test_what_was_packed_is_read(form: Compression, content: bytes, tmp_path: Path) -> None:
    assert read(PACK[form](content), tmp_path) == (content, "")


@pytest.mark.parametrize("form", FORMS)
def test_streams_one_after_another_are_one_file(form: Compression, tmp_path: Path) -> None:
    packed = PACK[form](LINES) + (bytes(8) if form is Compression.XZ else b"") + PACK[form](NOISE)
    assert read(packed, tmp_path, piece=1000) == (LINES + NOISE, "")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("content", [LINES, NOISE], ids=["lines", "noise"])
def test_a_truncated_file_gives_all_that_its_library_can_decode(
    form: Compression, content: bytes, tmp_path: Path
) -> None:
    packed = PACK[form](content)
    for share in (0.3, 0.7, 0.99):
        cut = packed[: int(len(packed) * share)]
        found, damage = read(cut, tmp_path)
        assert damage == "the compressed data ends too early"
        assert found == _decodable(form, cut)
        assert content.startswith(found)


@pytest.mark.parametrize("form", FORMS)
def test_a_damaged_file_gives_every_byte_before_the_damage(form: Compression, tmp_path: Path) -> None:
    packed = bytearray(PACK[form](LINES * 3))
    at = len(packed) // 2
    packed[at : at + 64] = bytes(64)
    found, damage = read(bytes(packed), tmp_path)
    assert "damaged" in damage
    assert found.startswith(_decodable(form, bytes(packed[:at])))


@pytest.mark.parametrize("form", FORMS)
def test_what_follows_and_is_not_packed_is_damage(form: Compression, tmp_path: Path) -> None:
    found, damage = read(PACK[form](LINES) + b"and then text", tmp_path)
    assert (found, bool(damage)) == (LINES, True)


def test_xz_that_asks_for_much_memory_is_refused(tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30}]
    found, damage = read(lzma.compress(b"x" * 100, filters=filters), tmp_path)
    assert found == b""
    assert "emory" in damage


def test_zstd_that_asks_for_much_memory_is_refused(tmp_path: Path) -> None:
    level = {zstd.CompressionParameter.window_log: 30, zstd.CompressionParameter.enable_long_distance_matching: 1}
    compressor = zstd.ZstdCompressor(options=level)
    packed = compressor.compress(LINES) + compressor.flush()
    found, damage = read(packed, tmp_path)
    assert found == b""
    assert "damaged" in damage


@pytest.mark.parametrize("ending", ["gz", "xz", "bz2", "zst"])
def test_a_bomb_is_refused_like_any_other(ending: str, tmp_path: Path) -> None:
    import gzip

    pack = {"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress, "zst": zstd.compress}[ending]
    (tmp_path / "bundle.tar").write_bytes(tar(member(f"var_log/messages.{ending}", pack(bytes(40_000_000)))))
    limits = UnpackLimits(ratio_floor=1 << 20)
    files = by_path(unpack_into(tmp_path, TarSource(tmp_path / "bundle.tar", limits=limits), limits=limits))
    refused = files[f"var_log/messages.{ending}"]
    assert refused.skip is SkipReason.UNREADABLE
    assert "times its compressed size" in (refused.reason or "")


@pytest.mark.parametrize("ending", ["tar.xz", "tar.bz2", "tar.zst", "txz", "tbz2", "tzst"])
def test_tars_inside_are_opened_whatever_packed_them(ending: str, tmp_path: Path) -> None:
    pack = {"x": lzma.compress, "b": bz2.compress, "z": zstd.compress}[ending.removeprefix("tar.").removeprefix("t")[0]]
    inner = pack(tar(member("kernel/dmesg.current", b"[    1.000000] a line\n")))
    (tmp_path / "bundle.tar").write_bytes(tar(member(f"node.{ending}", inner)))
    files = by_path(unpack_into(tmp_path, TarSource(tmp_path / "bundle.tar", limits=UnpackLimits())))
    assert files[f"node.{ending}/kernel/dmesg.current"].skip is None


@pytest.mark.parametrize(
    "magic", [b"\x04\x22\x4d\x18", b"\x1f\x9d\x90", b"PK\x03\x04", b"7z\xbc\xaf\x27\x1c", b"\x89LZO"]
)
def test_a_form_that_is_not_read_is_counted_as_such(magic: bytes, tmp_path: Path) -> None:
    (tmp_path / "bundle.tar").write_bytes(
        tar(member("var_log/messages.1", magic + NOISE[:500]), member("x/dmesg", LINES))
    )
    files = by_path(unpack_into(tmp_path, TarSource(tmp_path / "bundle.tar", limits=UnpackLimits())))
    assert files["var_log/messages.1"].skip is SkipReason.COMPRESSION


def _decodable(form: Compression, cut: bytes) -> bytes:
    decoder = {
        Compression.XZ: lzma.LZMADecompressor,
        Compression.BZIP2: bz2.BZ2Decompressor,
        Compression.ZSTD: zstd.ZstdDecompressor,
    }[form]()
    return decoder.decompress(cut)
