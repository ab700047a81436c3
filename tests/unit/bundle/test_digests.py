"""Digests made on the side are those of hashlib, whatever the sizes and however blocks are cut."""

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from affidavit.bundle.digests import BLOCK, Digests, FileDigests, SideHasher
from affidavit.errors import EvidenceUnavailable

KIB = 1024
BORDERS = [0, 1, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 64 * KIB]


def expected(data: bytes) -> tuple[str, str]:
    return hashlib.md5(data, usedforsecurity=False).hexdigest(), hashlib.sha256(data).hexdigest()


def digested(*streams: list[bytes]) -> list[tuple[str, str]]:
    hasher = SideHasher()
    digests = [Digests() for _ in streams]
    for digest, blocks in zip(digests, streams, strict=True):
        for block in blocks:
            buffer = hasher.take()
            buffer[: len(block)] = block
            digest.add(buffer, len(block), hasher)
    hasher.close()
    return [(digest.md5, digest.sha256) for digest in digests]


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize("size", BORDERS)
@pytest.mark.parametrize("block", [BLOCK, 64 * KIB, 100_000])
def test_digests_equal_those_of_hashlib_around_the_borders(size: int, block: int) -> None:
    data = os.urandom(size)
    assert digested(cut(data, block)) == [expected(data)]


@given(st.lists(st.lists(st.integers(0, 3 * 64 * KIB), max_size=6), min_size=1, max_size=5))
@settings(max_examples=30, deadline=None)
def test_small_and_large_blocks_of_many_files_do_not_get_mixed_up(sizes: list[list[int]]) -> None:
    streams = [[bytes([i]) * length for i, length in enumerate(lengths, 1)] for lengths in sizes]
    assert digested(*streams) == [expected(b"".join(blocks)) for blocks in streams]


def test_more_blocks_than_buffers_pass_through() -> None:
    data = os.urandom(40 * BLOCK)
    assert digested(cut(data, BLOCK)) == [expected(data)]


@pytest.mark.parametrize("size", BORDERS)
def test_a_file_on_disk_has_the_digests_of_hashlib(size: int, tmp_path: Path) -> None:
    data = os.urandom(size)
    (tmp_path / "x").write_bytes(data)
    assert FileDigests(tmp_path / "x").wait() == expected(data)


def test_a_file_that_cannot_be_read_to_its_end_has_no_digests(tmp_path: Path) -> None:
    with pytest.raises(EvidenceUnavailable, match="could not be read to its end: No such file") as raised:
        FileDigests(tmp_path / "gone").wait()
    assert raised.value.hint
