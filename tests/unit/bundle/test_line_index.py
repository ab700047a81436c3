"""Lines by number, from an index far smaller than the file."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from affidavit.bundle.line_index import STRIDE, LineIndex, build_line_index, newlines_before, read_lines

short = [b"\n", b"\n\n", b"a line\n", b"\r\n", b"\0", b"no end"]
pieces = st.sampled_from([*short, b"x" * 40_000, b"y" * STRIDE, b"z\n" * 3000])
contents = st.lists(pieces, max_size=12).map(b"".join)


def lines_of(content: bytes) -> list[bytes]:
    return [line + b"\n" for line in content.split(b"\n")[:-1]] + [content.rsplit(b"\n", 1)[-1]]


@given(contents, st.integers(1, 40), st.integers(0, 40))
@example(b"", 1, 1)
@example(b"\n", 2, 1)
@example(b"x" * STRIDE + b"\n" + b"y", 2, 1)
@example(b"x" * (STRIDE - 1) + b"\n" + b"y", 2, 1)
@settings(max_examples=150, deadline=None)
def test_lines_read_by_number_are_those_of_splitting_the_file(content: bytes, first: int, count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.log"
        path.write_bytes(content)
        index = LineIndex.from_bytes(build_line_index(path).to_bytes())
        expected = b"".join(lines_of(content)[first - 1 : first - 1 + count])
        assert read_lines(path, index, first, count) == expected
        assert index.size == len(content)


@given(contents, st.floats(0, 1))
@settings(max_examples=100, deadline=None)
def test_line_ends_before_an_offset_are_counted_exactly(content: bytes, where: float) -> None:
    offset = int(where * len(content))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.log"
        path.write_bytes(content)
        assert newlines_before(path, build_line_index(path), offset) == content[:offset].count(b"\n")


@pytest.mark.parametrize("lines", [1, 1000, STRIDE // 16 * 300])
def test_the_first_and_the_last_line_of_a_large_file_are_found(lines: int, tmp_path: Path) -> None:
    content = b"".join(b"%015d\n" % number for number in range(1, lines + 1))
    (tmp_path / "x.log").write_bytes(content)
    index = build_line_index(tmp_path / "x.log")
    for number in {1, 2, lines // 2, lines - 1, lines} - {0}:
        expected = b"%015d\n" % number if number <= lines else b""
        assert read_lines(tmp_path / "x.log", index, number, 1) == expected
    assert read_lines(tmp_path / "x.log", index, lines + 2, 1) == b""


def test_a_line_longer_than_a_stride_is_read_whole(tmp_path: Path) -> None:
    long = b"x" * (5 * STRIDE + 7)
    (tmp_path / "x.log").write_bytes(b"one\n" + long + b"\nthree")
    index = build_line_index(tmp_path / "x.log")
    assert read_lines(tmp_path / "x.log", index, 2, 1) == long + b"\n"
    assert read_lines(tmp_path / "x.log", index, 3, 9) == b"three"


def test_the_index_of_a_large_file_is_a_ten_thousandth_of_it(tmp_path: Path) -> None:
    size = 64 << 20
    with (tmp_path / "x.log").open("wb") as file:
        file.truncate(size)
    assert len(build_line_index(tmp_path / "x.log").to_bytes()) <= size / 10_000
