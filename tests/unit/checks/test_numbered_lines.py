import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.checks.computation_results import NotComputable
from affidavit.checks.numbered_lines import LARGEST, MOST_LINES, Document, named, read_document


def test_only_a_line_feed_ends_a_line_and_one_carriage_return_goes_with_it() -> None:
    document = Document("x", b"a\rb\r\n\xe2\x80\xa8c\x0b\n\r\r\nlast")
    assert list(document.lines()) == [(1, "a\rb"), (2, "\u2028c\x0b"), (3, "\r"), (4, "last")]


@given(st.binary(max_size=200))
def test_spans_put_together_with_their_line_ends_are_the_file(data: bytes) -> None:
    document = Document("x", data)
    spans = document.spans(range(1, data.count(b"\n") + 2))
    assert [number for number, _ in document.lines()] == list(spans)
    for (_, end), (start, _) in zip(spans.values(), list(spans.values())[1:], strict=False):
        assert data[end:start] in (b"\n", b"\r\n")
    assert all(b"\n" not in data[start:end] for start, end in spans.values())


def test_a_very_long_line_is_seen_in_part_and_cited_whole() -> None:
    document = Document("x", b"a" * 100_000 + b"\nb")
    assert [(number, len(text)) for number, text in document.lines()] == [(1, 16384), (2, 1)]
    assert document.spans({1}) == {1: (0, 100_000)}


def test_a_file_over_the_bound_is_not_computed_on_and_says_so(tmp_path: Path) -> None:
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(LARGEST + 1)
    assert read_document("a/large", large) == NotComputable(
        "a/large", "is larger than 32 MiB, so nothing was computed from it"
    )


def test_a_file_of_too_many_lines_is_not_computed_on(tmp_path: Path) -> None:
    (tmp_path / "feeds").write_bytes(b"\n" * (MOST_LINES + 1))
    assert isinstance(read_document("feeds", tmp_path / "feeds"), NotComputable)


def test_the_beginning_of_a_large_file_ends_with_a_whole_line(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"one\ntwo\nthree\n")
    assert read_document("x", tmp_path / "x", only_first=10) == Document("x", b"one\ntwo\n")
    assert read_document("x", tmp_path / "x", only_first=100) == Document("x", b"one\ntwo\nthree\n")


def test_a_file_that_cannot_be_opened_is_a_gap(tmp_path: Path) -> None:
    assert read_document("x", tmp_path / "none") == NotComputable("x", "cannot be read: No such file or directory")


@pytest.mark.parametrize("path", ["system/ps.txt", "top/system/ps.txt"])
def test_a_document_is_found_by_its_path_in_the_bundle(path: str) -> None:
    document = Document(path, b"x")
    assert named([Document("system/other-ps.txt", b"x"), document], "system/ps.txt") == document
    assert named([Document(path, b" \n")], "system/ps.txt") is None
    assert named([Document("filesystem/ps.txt", b"x")], "system/ps.txt") is None


@pytest.mark.parametrize("mark", [b"a", b"^b", b"^[^\\S\n]*-?\\d", b"z"])
@pytest.mark.parametrize("content", ["", "a", "a\n", "\n\nxa\r\n\nb\n b\n -1 a\na a\n2", "ab\nab\nab"])
def test_lines_with_a_mark_are_those_of_all_lines_that_have_it(content: str, mark: bytes) -> None:
    pattern = re.compile(mark, re.MULTILINE)
    document = Document("x", content.encode())
    marked = [line for line in document.lines() if pattern.search(line[1].encode())]
    assert list(document.lines_with(pattern)) == marked
    wide = Document("x", content.encode("utf-16") * 50)
    assert {*wide.lines_with(pattern)} >= {line for line in wide.lines() if pattern.search(line[1].encode())}
