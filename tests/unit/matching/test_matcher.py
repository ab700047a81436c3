"""The fast engine finds the lines RE2 finds, also where its input ends."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from affidavit.matching.matcher import ROOM, SLOT_BITS, compile_matcher
from affidavit.matching.pattern_language import Wordings

# The engine misses ends of these when nothing stands behind its input.
PATTERNS = ("a$", "b+$", r"(?i)(?:a|bk)b*[ab]", "err$", "^ab", r"k\d*$")


@pytest.mark.parametrize("engine", ["hyperscan", "re2"])
@pytest.mark.parametrize("ending", ["", "\n", "\r", "\r\n", "\n\n"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_matches_that_reach_the_end_of_the_text_are_found(pattern: str, engine: str, ending: str) -> None:
    matcher = compile_matcher([(0, pattern)], engine=engine)
    wordings = Wordings([pattern])
    chance = random.Random(7)
    for _ in range(1500):
        text = ("".join(chance.choice("abkAB\n1 ") for _ in range(chance.randrange(90))) + ending).encode()
        assert _lines(matcher.scan(bytearray(text + b"ab"[:ROOM]), len(text)), text) == _expected(text, wordings), text


@pytest.mark.parametrize("pattern", PATTERNS)
def test_in_a_block_grown_for_one_line_a_slot_is_told_once_a_line(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("affidavit.matching.matcher._USUAL_BLOCK", -1)
    matcher, wordings = compile_matcher([(0, pattern), (1, "k")], engine="hyperscan"), Wordings([pattern, "k"])
    chance = random.Random(11)
    for _ in range(500):
        text = "".join(chance.choice("abkAB\n1 ") for _ in range(chance.randrange(90))).encode()
        hits = matcher.scan(bytearray(text + bytes(ROOM)), len(text))
        assert _lines(hits, text) == _expected(text, wordings), text
        assert len(hits) == len(_lines(hits, text)), text


def test_what_stands_behind_the_block_stays_and_does_not_match() -> None:
    block = bytearray(b"nothing ab")
    assert compile_matcher([(0, "ab")], engine="hyperscan").scan(block, len(block) - ROOM) == []
    assert block == b"nothing ab"


def test_threads_share_an_engine() -> None:
    matcher = compile_matcher([(0, "needle"), (1, r"x+y")], engine="hyperscan")
    text = (b"x" * 200 + b"\n") * 20_000 + b"a needle\n"

    def look(_number: int) -> list[int]:
        return matcher.scan(bytearray(text + bytes(ROOM)), len(text))

    with ThreadPoolExecutor(8) as pool:
        assert {len(hits) for hits in pool.map(look, range(40))} == {1}


def _lines(hits: list[int], text: bytes) -> set[tuple[int, int]]:
    return {(text.count(b"\n", 0, hit >> SLOT_BITS), hit & 0xFFFF) for hit in hits}


def _expected(text: bytes, wordings: Wordings) -> set[tuple[int, int]]:
    lines = [line.removesuffix(b"\r") for line in text.split(b"\n")]
    return {(number, slot) for number, line in enumerate(lines) for slot in wordings.which(line)}
