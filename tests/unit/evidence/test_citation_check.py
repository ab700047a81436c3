"""The one check, and every way evidence can be wrong."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.knowledge.findings import an_evidence

from affidavit.errors import EvidenceUnavailable
from affidavit.evidence.citation_check import check
from affidavit.evidence.finding import ByteRange, Evidence, LineRange, excerpt_of


class Memory:
    def __init__(self, content: bytes) -> None:
        self._content = content

    def read(self, evidence: Evidence, span: ByteRange) -> bytes:
        if evidence.source_file == "gone.log":
            raise EvidenceUnavailable("the bundle has no gone.log")
        return self._content[span.start : span.end]

    def newlines_before(self, evidence: Evidence, offset: int) -> int:
        return self._content[:offset].count(b"\n")


CONTENT = b"first\r\nsecond line\nthird"
SECOND = an_evidence(b"second line", line_range=LineRange(start=2, end=2), byte_offset=ByteRange(start=7, end=18))


def test_a_true_citation_holds() -> None:
    assert check(SECOND, Memory(CONTENT)).holds
    first = an_evidence(b"first", byte_offset=ByteRange(start=0, end=5))
    assert check(first, Memory(CONTENT)).holds
    third = an_evidence(b"third", line_range=LineRange(start=3, end=3), byte_offset=ByteRange(start=19, end=24))
    assert check(third, Memory(CONTENT)).holds


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"sha256": "0" * 64}, "sha256"),
        ({"excerpt": "second lime"}, "excerpt"),
        ({"excerpt": ""}, "excerpt"),
        ({"excerpt": "second line, and more"}, "excerpt"),
        ({"line_range": LineRange(start=3, end=3)}, "line 2, not 3"),
        ({"byte_offset": ByteRange(start=8, end=18)}, "sha256"),
        ({"byte_offset": ByteRange(start=7, end=17)}, "whole line"),
        ({"byte_offset": ByteRange(start=7, end=19)}, "whole line"),
        ({"byte_offset": ByteRange(start=7, end=900)}, "ends inside"),
        ({"byte_offset": ByteRange(start=18, end=7)}, "reversed"),
        ({"byte_offset": ByteRange(start=-1, end=7)}, "reversed"),
        ({"byte_offset": None}, "no byte range"),
        ({"sha256": None}, "no byte range"),
        ({"source_file": "gone.log"}, "no gone.log"),
    ],
)
def test_a_false_citation_says_what_is_wrong(change: dict[str, object], problem: str) -> None:
    outcome = check(replace(SECOND, **change), Memory(CONTENT))
    assert not outcome.holds
    assert any(problem in text for text in outcome.problems), outcome.problems


def test_one_changed_byte_in_the_bundle_is_seen() -> None:
    for index in range(7, 18):
        changed = CONTENT[:index] + bytes([CONTENT[index] ^ 1]) + CONTENT[index + 1 :]
        assert not check(SECOND, Memory(changed)).holds


@given(st.binary(max_size=6000))
def test_an_excerpt_is_the_beginning_of_the_whole_text(line: bytes) -> None:
    assert line.decode("utf-8", "replace")[:500] == excerpt_of(line)
