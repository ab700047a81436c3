"""What more rules cost: the same text scanned for 100, 1,000 and 3,000 patterns, in turn.

Fewer patterns than the catalog has are chosen evenly from it. More are made from its own by putting other words of the
same length in place of theirs, so that literals, classes and repetitions stay as they are in real rules.
"""

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from itertools import count

from affidavit.matching.matcher import ROOM, compile_matcher
from affidavit.matching.sieve import SievedMatcher, sieve_of, without_text
from affidavit.rules.pack import RulePack
from benchmarks.cases import Result
from benchmarks.measure import Case, run_rounds
from benchmarks.patterns import sample_blocks

_FEW, _MANY = 100, ((1_000, 4.0), (3_000, 8.0))
_TURNS = 5
_VOWELS, _CONSONANTS = "aeiou", "bcdfghjklmnpqrstvwxyz"
# Escapes, classes, flags and counts are left alone.
_WORD = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[a-z:]+|\{[\d,]+\}|[a-z]{4,}")


def growth(pack: RulePack, rounds: int) -> Iterator[Result]:
    blocks = list(sample_blocks(pack))
    real = sorted({wording for rule in pack.rules for wording in (*rule.match, *rule.cleared_by, *rule.planned_by)})
    with tempfile.TemporaryDirectory() as unkept:
        os.environ["XDG_CACHE_HOME"] = unkept
        scans = {str(number): scan_of(patterns_like(real, number), blocks) for number in (_FEW, *dict(_MANY))}
        del os.environ["XDG_CACHE_HOME"]
    timings = run_rounds(scans, max(rounds, 3))
    for number, most in _MANY:
        # The least of each: a busy machine adds to some rounds, never takes away.
        ratio = min(timings[str(number)].cpu) / min(timings[str(_FEW)].cpu)
        yield Result(name=f"CPU of a scan, {number:,} patterns over {_FEW}", value=ratio, target=most, better="lower")


def patterns_like(real: Sequence[str], number: int) -> list[str]:
    """The same ones for the same catalog."""
    if number <= len(real):
        return [real[at * len(real) // number] for at in range(number)]
    found = dict.fromkeys(real)
    for turn in count(1):
        for pattern in real:
            found[_WORD.sub(lambda word, turn=turn: _other(word[0], turn), pattern)] = None
            if len(found) == number:
                return [*found]
    raise AssertionError("turns do not end")


def _other(word: str, turn: int) -> str:
    return "".join(_next(letter, turn) for letter in word) if word.isalpha() else word


def _next(letter: str, turn: int) -> str:
    letters = _VOWELS if letter in _VOWELS else _CONSONANTS
    return letters[(letters.index(letter) + turn) % len(letters)]


def scan_of(patterns: Sequence[str], blocks: Sequence[bytearray]) -> Case:
    numbered = [*enumerate(patterns)]
    engine, sieve = compile_matcher(numbered, engine="hyperscan"), sieve_of(patterns)
    textless = without_text(patterns)
    plain = compile_matcher([each for each in numbered if each[1] in textless] or numbered, engine="hyperscan")

    def scan() -> None:
        for _ in range(_TURNS):
            for block in blocks:
                # A new one for each block: what it learns from one file's blocks does not hold for another's.
                SievedMatcher(sieve, engine, plain=lambda: plain, whole=lambda: engine).scan(block, len(block) - ROOM)

    return scan
