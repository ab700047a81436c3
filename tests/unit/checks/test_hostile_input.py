"""Whatever a bundle holds, a computation ends without an error and shows only lines that exist."""

import re
import time
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.each import for_each
from tests.support.storms import storm

from affidavit.checks.check import Check
from affidavit.checks.computation_results import LONGEST_DETAIL, Shown
from affidavit.checks.numbered_lines import Document
from affidavit.checks.run_named_computation import apply_check
from affidavit.checks.run_on_bundle import load_checks, run_checks

CHECKS = load_checks()
each_check = for_each("check", CHECKS, label=lambda check: check.id)
ODD = st.one_of(
    st.binary(max_size=60),
    st.sampled_from(
        [b"\0", b"\xff\xfe", b"\n" * 9, b"9" * 5000, b"-1", b" ", b"%", b'"', b"=", b"e999", b"nan", "٣".encode(), b"["]
    ),
)


@each_check
@settings(max_examples=storm(15, full=40), deadline=None)
@given(data=st.data())
def test_a_firing_sample_with_bytes_cut_out_and_put_in_never_raises(check: Check, data: st.DataObject) -> None:
    files = data.draw(st.sampled_from(check.samples.fires)).files
    _must_hold(check, [Document(path, data.draw(_damaged(text.encode()))) for path, text in files.items()])


@each_check
@settings(max_examples=storm(8, full=15), deadline=None)
@given(data=st.data())
def test_random_bytes_never_raise(check: Check, data: st.DataObject) -> None:
    paths = check.samples.fires[0].files
    _must_hold(check, [Document(path, data.draw(st.binary(max_size=300))) for path in paths])


@each_check
def test_every_truncation_of_a_firing_sample_is_survived(check: Check) -> None:
    for sample in check.samples.fires:
        content = {path: text.encode() for path, text in sample.files.items()}
        for path, text in content.items():
            for end in range(0, len(text), 7):
                cut = {**content, path: text[:end]}
                _must_hold(check, [Document(*item) for item in cut.items()])


@each_check
def test_no_number_is_too_large_too_small_or_too_strange(check: Check) -> None:
    for sample in check.samples.fires:
        for number in (
            b"9" * 20,
            b"9" * 5000,
            b"0",
            b"-1",
            b"",
            b"1e99",
            b"1e999",
            b"nan",
            b".",
            b"18446744073709551616",
        ):
            for every in (1, 2, 3):
                _must_hold(
                    check, [Document(path, _renumbered(text, number, every)) for path, text in sample.files.items()]
                )


def _renumbered(text: str, number: bytes, every: int) -> bytes:
    """Each number, each second or each third of them is another."""
    turns = count()
    return re.sub(rb"[0-9]+", lambda found: number if next(turns) % every == 0 else found[0], text.encode())


@each_check
def test_a_missing_file_is_no_error(check: Check) -> None:
    for sample in check.samples.fires:
        for left_out in sample.files:
            rest = [Document(path, text.encode()) for path, text in sample.files.items() if path != left_out]
            _must_hold(check, rest)
    _must_hold(check, [])


@pytest.mark.parametrize("piece", [b" ", b'"', b'\\"', b"a ", b"(", b"[", b"1.", b"\t-A x", b"-j DROP ", b":"])
def test_a_megabyte_of_one_piece_in_every_file_takes_no_more_than_seconds(piece: bytes, tmp_path: Path) -> None:
    """Linear time: a line of a megabyte, and as many lines of 64 bytes."""
    line = piece * (1_000_000 // len(piece))
    short = (piece * (64 // len(piece)) + b"\n") * 4000
    (tmp_path / "x").write_bytes(b"*nat\n" + line + b"\n" + short)
    files = {path: tmp_path / "x" for check in CHECKS for path in check.samples.fires[0].files}
    started = time.process_time()
    run_checks(CHECKS, files)
    assert time.process_time() - started < 20


def _damaged(content: bytes) -> st.SearchStrategy[bytes]:
    place = st.integers(0, len(content))
    return st.builds(lambda a, b, odd: content[: min(a, b)] + odd + content[max(a, b) :], place, place, ODD)


def _must_hold(check: Check, documents: list[Document]) -> None:
    sizes = {document.path: sum(1 for _ in document.lines()) for document in documents}
    for found in apply_check(check, documents):
        assert found.path in sizes
        if isinstance(found, Shown):
            assert 1 <= found.line <= sizes[found.path]
            assert 0 < len(found.detail) <= LONGEST_DETAIL
