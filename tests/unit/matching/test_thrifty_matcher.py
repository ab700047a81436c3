"""The engine that needs no building finds what the lasting one finds, wherever they take turns."""

import random
import sys

import pytest

from affidavit.matching import re2_until_hyperscan_pays as thrifty
from affidavit.matching.matcher import ROOM, SLOT_BITS, Matcher, Re2Matcher, compile_matcher, is_ready, thrifty_matcher
from affidavit.matching.needle_cache import kept_needles, made_needles
from affidavit.matching.needles import Needles

PATTERNS = [(number, rf"\bfault{number}\b.*(?:lost|gone)$") for number in range(150)]
CHANCE = random.Random(5)
TEXT = b"".join(
    b"line %d fault%d %s\n" % (n, CHANCE.randrange(200), CHANCE.choice([b"lost", b"gone", b"kept"]))
    for n in range(9000)
)


@pytest.fixture(scope="module")
def lasting() -> Matcher:
    return compile_matcher(PATTERNS, engine="hyperscan")


@pytest.fixture
def unkept(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.mark.usefixtures("unkept")
@pytest.mark.parametrize(
    ("few_bytes", "few_seconds", "built"), [(1 << 20, 60, 0), (0, 60, 1), (1 << 20, 1e-9, 1), (len(TEXT), 1e-9, 2)]
)
def test_both_engines_find_the_same_and_the_lasting_one_is_made_only_when_it_pays(
    lasting: Matcher, monkeypatch: pytest.MonkeyPatch, few_bytes: int, few_seconds: float, built: int
) -> None:
    monkeypatch.setattr(thrifty, "FEW_BYTES", few_bytes)
    monkeypatch.setattr(thrifty, "FEW_SECONDS", few_seconds)
    made: list[int] = []
    matcher = thrifty_matcher(PATTERNS, lambda: made.append(1) or lasting, engine="auto")
    for _ in range(max(1, built)):
        assert _lines(matcher.scan(_block(), len(TEXT))) == _lines(lasting.scan(_block(), len(TEXT))) != set()
    assert len(made) == built


@pytest.mark.usefixtures("unkept")
def test_an_engine_that_is_kept_or_small_is_used_at_once(lasting: Matcher, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_ready(PATTERNS, engine="auto")
    assert is_ready(PATTERNS[:5], engine="auto") and is_ready(PATTERNS, engine="re2")
    monkeypatch.setattr("affidavit.matching.matcher.WORTH_KEEPING", 0.0)
    compile_matcher(PATTERNS)
    assert thrifty_matcher(PATTERNS, lambda: lasting, engine="auto") is lasting


@pytest.mark.usefixtures("unkept")
def test_without_hyperscan_re2_is_the_whole_engine(lasting: Matcher, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = _lines(lasting.scan(_block(), len(TEXT)))
    monkeypatch.setitem(sys.modules, "hyperscan", None)
    made = thrifty_matcher(PATTERNS, lambda: compile_matcher(PATTERNS), engine="auto")
    assert isinstance(made, Re2Matcher)
    assert _lines(made.scan(_block(), len(TEXT))) == expected


@pytest.mark.usefixtures("unkept")
def test_kept_needles_change_where_re2_looks_and_not_what_it_finds(
    lasting: Matcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    wordings = [wording for _, wording in PATTERNS]
    assert kept_needles(wordings) is None
    needles = made_needles(wordings)
    assert kept_needles(reversed(wordings)) == needles and needles.texts
    assert _lines(Re2Matcher(PATTERNS).scan(_block(), len(TEXT))) == _lines(lasting.scan(_block(), len(TEXT)))
    monkeypatch.setattr("affidavit.matching.matcher.kept_needles", lambda _: Needles(texts=("gone",), others=()))
    seen = {line for line, _ in _lines(Re2Matcher(PATTERNS).scan(_block(), len(TEXT)))}
    assert seen and all(b"gone" in TEXT.splitlines()[line] for line in seen)


def _block() -> bytearray:
    return bytearray(TEXT + bytes(ROOM))


def _lines(hits: list[int]) -> set[tuple[int, int]]:
    return {(TEXT.count(b"\n", 0, hit >> SLOT_BITS), hit & (1 << SLOT_BITS) - 1) for hit in hits}
