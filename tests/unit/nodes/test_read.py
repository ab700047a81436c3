"""Whole lines by byte and by number; following the chunks gives the file back byte for byte."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.knowledge.libraries import INSTANCE, a_library, shelve

from affidavit.errors import InputRefused, NotFound
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.nodes.library.object_keys import bundle_key
from affidavit.nodes.questions import read as reading
from affidavit.nodes.questions.read import human_size, read
from affidavit.nodes.wire.read import ReadAnswer, ReadRequest

KEY = f"eks_{INSTANCE}/extracted/x.log"
PIECES = st.sampled_from([b"a", b"line", b"\n", b"\r\n", b"\r", b"\0", b"\xff\xfe", "é€".encode(), b"\n\n", b" " * 40])


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("library")
    library = a_library(folder)
    shelve(library, folder / "in", {"x.log": b"replaced by each test\n"})
    return library


def put(library: Library, content: bytes) -> None:
    library.objects.put(KEY, content, purpose="test")


def chunks(library: Library, size: int) -> list[ReadAnswer]:
    found: list[ReadAnswer] = []
    at: int | None = 0
    while at is not None:
        found.append(read(library, ReadRequest(log_key=KEY, start_byte=at, end_byte=at + size)))
        assert len(found) < 1000
        at = found[-1].next_chunk_start
    return found


@settings(max_examples=150, deadline=None)
@given(content=st.lists(PIECES, max_size=40).map(b"".join), size=st.integers(1, 30))
def test_following_the_chunks_reproduces_the_file(library: Library, content: bytes, size: int) -> None:
    put(library, content)
    found = chunks(library, size)
    assert b"".join(content[each.start_byte : each.end_byte] for each in found) == content
    assert [each.content for each in found] == [
        content[each.start_byte : each.end_byte].decode("utf-8", "replace") for each in found
    ]
    assert all(content[: each.start_byte][-1:] in (b"", b"\n") for each in found)
    assert all(content[: each.end_byte][-1:] in (b"", b"\n") for each in found[:-1])
    assert sum(each.line_count for each in found) == content.count(b"\n") + (content[-1:] not in (b"", b"\n"))


@settings(max_examples=150, deadline=None)
@given(content=st.lists(PIECES, max_size=30).map(b"".join), data=st.data())
def test_any_start_begins_at_its_line_or_the_next(library: Library, content: bytes, data: st.DataObject) -> None:
    put(library, content)
    start = data.draw(st.integers(0, len(content)))
    is_beginning = start == 0 or content[start - 1 : start] == b"\n"
    feed = content.find(b"\n", start)
    expected = start if is_beginning else len(content) if feed < 0 else feed + 1
    assert read(library, ReadRequest(log_key=KEY, start_byte=start)).start_byte == expected


@settings(max_examples=150, deadline=None)
@given(content=st.lists(PIECES, max_size=30).map(b"".join), first=st.integers(1, 12), count=st.integers(1, 12))
def test_lines_by_number_are_the_files_lines(library: Library, content: bytes, first: int, count: int) -> None:
    put(library, content)
    lines = content.split(b"\n")
    lines = [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    request = ReadRequest(log_key=KEY, start_line=first, line_count=count)
    if first > max(1, len(lines)):
        with pytest.raises(InputRefused, match="fewer"):
            read(library, request)
        return
    assert read(library, request).content == b"".join(lines[first - 1 : first - 1 + count]).decode("utf-8", "replace")


def test_a_line_of_5_megabytes_comes_whole(library: Library) -> None:
    put(library, b"short\n" + b"x" * 5_000_000 + b"\nlast")
    found = read(library, ReadRequest(log_key=KEY, start_byte=6))
    assert (found.start_byte, found.end_byte, found.line_count) == (6, 5_000_007, 1)
    assert found.content == "x" * 5_000_000 + "\n"
    assert found.has_more


def test_a_line_too_long_for_an_answer_is_offered_as_a_link(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "INLINE", 1000)
    put(library, b"y" * 3000 + b"\nlast\n")
    found = read(library, ReadRequest(log_key=KEY))
    assert (found.start_byte, found.end_byte, found.content, found.truncated) == (0, 3001, "", True)
    assert found.link is not None and found.truncation_info is not None
    on = found.truncation_info.next_call
    assert on is not None and on.arguments["startByte"] == found.next_chunk_start == 3001
    assert Path(found.link).read_bytes()[:3] == b"yyy"
    assert read(library, ReadRequest(log_key=KEY, start_byte=found.next_chunk_start)).content == "last\n"


def test_a_range_beyond_what_an_answer_holds_is_never_cut_in_silence(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "INLINE", 1000)
    content = b"".join(b"line %03d\n" % number for number in range(300))
    put(library, content)
    found = read(library, ReadRequest(log_key=KEY, start_byte=0, end_byte=2700))
    info = found.truncation_info
    assert found.truncated and info is not None and info.next_call is not None and found.link is not None
    assert (info.original_count, info.returned_count) == (2700, found.end_byte) and found.end_byte <= 1000
    read_on, pieces = info.next_call, [found.content]
    while read_on is not None:
        found = read(library, ReadRequest.model_validate(read_on.arguments))
        pieces.append(found.content)
        read_on = found.truncation_info.next_call if found.truncation_info is not None else None
    assert "".join(pieces).encode() == content


@pytest.mark.parametrize(
    "key",
    [
        "extracted/x.log",
        "/etc/passwd",
        f"eks_{INSTANCE}/../eks_i-0aaaaaaaaaaaaaaaa/x",
        f"eks_{INSTANCE}/extracted/../../secret",
        f"eks_{INSTANCE}/extracted/..\\..\\secret",
        f"eks_{INSTANCE}//x",
        f"eks_{INSTANCE}/x\0y",
        "eks_i-XYZ/extracted/x.log",
        "other/eks_i-0123456789abcdef0/x",
    ],
)
def test_a_key_outside_a_bundle_is_refused(library: Library, key: str) -> None:
    with pytest.raises(InputRefused):
        read(library, ReadRequest(log_key=key))
    # Not only because the store would refuse it.
    with pytest.raises(InputRefused):
        bundle_key(key)


def test_a_key_of_nothing_is_not_found(library: Library) -> None:
    with pytest.raises(NotFound, match="nothing-here"):
        read(library, ReadRequest(log_key=f"eks_{INSTANCE}/extracted/nothing-here.log"))


@pytest.mark.parametrize(("size", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1_000_000, "1.0 MB")])
def test_sizes_are_written_for_people(size: int, text: str) -> None:
    assert human_size(size) == text
