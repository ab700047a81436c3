"""A sieve changes how fast lines are found, never which."""

import random
from itertools import chain

import pytest

from affidavit.matching.looser_patterns import looser
from affidavit.matching.matcher import ROOM, SLOT_BITS, Matcher, compile_matcher
from affidavit.matching.needles import needles_of, required_texts
from affidavit.matching.pattern_language import Wordings
from affidavit.matching.sieve import DENSE, SievedMatcher, is_sieve_ready, sieve_of, without_text
from affidavit.rules.pack import load_pack
from affidavit.rules.rule import placed

PATTERNS = (
    "conntrack table full",
    "(?:dropping|dropped) packet",
    "[Ff]ailed to (?:mount|attach)(?: volume)?$",
    r"^deadlock \d+",
    "(?i)Watchdog Bark",
    r"\d{3} x+y",
    'zz"+ quux',
    r"blocked for more than \d+ seconds\.?",
)
# Digits, a single letter, and letters of either case: no text stands for these.
PLAIN = compile_matcher([(4, PATTERNS[4]), (5, PATTERNS[5])], engine="hyperscan")
NOISE = ("all is well", "a note came", "x" * 300, "", "12 xy", "y y", "is up")


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("deadlock", {"deadlock"}),
        ("[Dd]eadlock", {"deadlock", "Deadlock"}),
        ("(?:oops|panic): x", {"oops: x", "panic: x"}),
        (r"quux\d+deadlock", {"deadlock"}),
        ('quuxx"+ a', {'quuxx"'}),
        ("(?:oops|.*)x", None),
        ("(?:panic)?x", None),
        ("(?:panic)*x", None),
        ("(?:panic)+x", {"panicx"}),
        ("panic{0}x", {"pani"}),
        ("(?i)panic", None),
        ("(?:(?i:panic))", None),
        (r"(?i:panic[)]|\)x) oopsies", {" oopsies"}),
        (r"[a-z]panic[^x]", {"panic"}),
        (r"p.nic", None),
        (r"\bpanic\b", {"panic"}),
        (r"\x70anic|oops", None),
        ("12345678", None),
        (" level=info msg=", None),
        ("failed", None),
        (" failed to x", {" failed to x"}),
    ],
)
def test_a_text_is_required_only_if_no_match_can_be_without_it(pattern: str, texts: set[str] | None) -> None:
    assert required_texts(pattern) == texts


@pytest.mark.parametrize(
    ("pattern", "forms"),
    [
        ("kernel: .*(?i:stuck|hung (?:up|[|)]))", ["(?i:stuck)", "(?i:hung (?:up|[|)]))"]),
        ("kernel: (?i:stuck|hung)?", None),
        ("kernel: (?i:stuck|hung) now", None),
        ("kernel: (?i:stuck)|hung (?i:up)", None),
        (r"kernel: \(?i:stuck\)", None),
        ("(?:out F |^)F\\d", ["F\\d"]),
        ("(?:out F |^)?F\\d", None),
        ("(?:out F |^F)\\d", None),
    ],
)
def test_only_what_no_match_needs_is_left_out_of_a_pattern(pattern: str, forms: list[str] | None) -> None:
    assert looser(pattern) == (forms or [pattern])


def test_every_sample_of_every_rule_gets_through_the_sieve_of_all_rules() -> None:
    pack = load_pack()
    wordings = [w for rule in pack.rules for w in (*rule.match, *rule.cleared_by, *rule.planned_by)]
    needles = needles_of(wordings)
    others = Wordings([form for pattern in needles.others for form in looser(pattern)])
    texts = [text.encode() for text in needles.texts]
    samples = [placed(sample, rule)[0] for rule in pack.rules for sample in rule.samples.fires]
    lost = [line for line in samples if not any(text in line for text in texts) and not others.match(line)]
    assert not lost
    assert len(needles.others) < len(wordings) / 20, "patterns that no text stands for slow every scan down"
    assert len(needles.texts) < len(wordings) / 2, "more rules need few more texts"


@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
def test_the_same_lines_are_found_with_and_without_a_sieve(ending: str) -> None:
    engine = compile_matcher([*enumerate(PATTERNS)], engine="hyperscan")
    sieved = SievedMatcher(sieve_of(PATTERNS), engine, plain=lambda: PLAIN, whole=_never)
    planted = (
        "nf_conntrack table full, dropping packet",
        "Failed to mount",
        "failed to attach volume",
        "deadlock 12",
        "the WATCHDOG bark",
        "123 xxxy",
        'zz"" quux',
        "blocked for more than 120 seconds",
        "Failed to mount it",
        "a deadlock 12",
        "quux",
        "the watchdog",
    )
    chance = random.Random(5)
    for _ in range(60):
        lines = [*chance.choices(NOISE, k=2000), *chance.choices(planted, k=chance.randrange(12))]
        chance.shuffle(lines)
        text = bytearray(("\n".join(lines) + ending).encode())
        found = sieved.scan(text + bytes(ROOM), len(text))
        assert _lines(found, text) == _lines(engine.scan(text + bytes(ROOM), len(text)), text)
        assert [hit >> SLOT_BITS for hit in found] == sorted(hit >> SLOT_BITS for hit in found)


def test_a_block_full_of_marked_lines_is_given_to_the_engine_as_a_whole_and_so_are_some_more() -> None:
    engine = _Counting(compile_matcher([*enumerate(PATTERNS)], engine="hyperscan"))
    sieve = _Counting(sieve_of(PATTERNS))
    sieved = SievedMatcher(sieve, _Counting(engine), plain=_never, whole=lambda: engine)
    full = bytearray(b"deadlock 1\n" * DENSE)
    for _ in range(8):
        assert len(sieved.scan(full + bytes(ROOM), len(full))) == DENSE
    assert (sieve.scans, engine.scans) == (3, 8)
    usual = bytearray(b"all is well\n" * DENSE)
    assert list(chain.from_iterable(sieved.scan(usual + bytes(ROOM), len(usual)) for _ in range(9))) == []
    assert engine.scans < 8 + 8, "the sieve is tried again"


def test_the_patterns_without_a_text_are_told() -> None:
    assert without_text(PATTERNS) == {PATTERNS[4], PATTERNS[5]}


def test_lines_on_which_no_text_stands_are_asked_for_the_few_patterns_without_one() -> None:
    engine, plain = _Counting(compile_matcher([*enumerate(PATTERNS)], engine="hyperscan")), _Counting(PLAIN)
    sieved = SievedMatcher(sieve_of(PATTERNS), engine, plain=lambda: plain, whole=_never)
    block = bytearray(b"\n".join([b"all is well" * DENSE, b"123 xxxy", b"all is well", b"the WATCHDOG bark"]))
    assert _lines(sieved.scan(block + bytes(ROOM), len(block)), block) == {(1, 5), (3, 4)}
    assert (engine.scans, plain.scans) == (0, 1)


def test_a_sieve_is_kept_for_the_next_run(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("affidavit.matching.matcher.WORTH_KEEPING", 0)
    assert not is_sieve_ready(PATTERNS)
    sieve_of(PATTERNS)
    assert is_sieve_ready(PATTERNS)
    assert not is_sieve_ready(PATTERNS[1:])


class _Counting:
    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self.scans = 0

    def scan(self, block: bytearray, length: int) -> list[int]:
        self.scans += 1
        return self._matcher.scan(block, length)


def _never() -> Matcher:
    raise AssertionError("few lines hold a needle")


def _lines(hits: list[int], text: bytearray) -> set[tuple[int, int]]:
    return {(text.count(b"\n", 0, hit >> SLOT_BITS), hit & 0xFFFF) for hit in hits}
