"""Which pattern slows the whole scan most: the speed without it over the speed with it.

Patterns are compiled into one engine, so a pattern's cost shows only in company; each is left out in turn, first a
dozen at a time.
"""

import os
import tempfile
import time
from collections.abc import Iterator, Sequence

from affidavit.matching.matcher import ROOM, compile_matcher
from affidavit.rules.pack import RulePack
from benchmarks.bundles import big_bundle
from benchmarks.cases import Result

_SAMPLE = 48 << 20
_BLOCK = 1 << 20
_DOZEN = 12


def slowest_pattern(pack: RulePack) -> Iterator[Result]:
    patterns = sorted({wording for rule in pack.rules for wording in (*rule.match, *rule.cleared_by, *rule.planned_by)})
    blocks = list(sample_blocks(pack))
    with tempfile.TemporaryDirectory() as unkept:
        # Engines of no further use must not push out the kept one.
        os.environ["XDG_CACHE_HOME"] = unkept
        yield _slowest(patterns, blocks)
        del os.environ["XDG_CACHE_HOME"]


def _slowest(patterns: Sequence[str], blocks: Sequence[bytearray]) -> Result:
    everything = _seconds(patterns, blocks)
    dozens = [patterns[at : at + _DOZEN] for at in range(0, len(patterns), _DOZEN)]
    slow_dozen = min(dozens, key=lambda dozen: _seconds(_without(patterns, dozen), blocks))
    costs = {pattern: everything / _seconds(_without(patterns, [pattern]), blocks) for pattern in slow_dozen}
    worst = max(costs, key=lambda pattern: costs[pattern])
    return Result(
        name=f"scan without its slowest pattern: {worst[:24]}",
        value=costs[worst],
        target=1.15,
        better="lower",
        unit="×",
    )


def _without(patterns: Sequence[str], left_out: Sequence[str]) -> list[str]:
    return [pattern for pattern in patterns if pattern not in left_out]


def _seconds(patterns: Sequence[str], blocks: Sequence[bytearray]) -> float:
    matcher = compile_matcher(list(enumerate(patterns)), engine="hyperscan")
    rounds: list[float] = []
    for _ in range(3):
        started = time.thread_time()
        for block in blocks:
            matcher.scan(block, len(block) - ROOM)
        rounds.append(time.thread_time() - started)
    return min(rounds)


def sample_blocks(pack: RulePack) -> Iterator[bytearray]:
    """Some of every large file, in blocks that end where a line does."""
    files = sorted(path for path in big_bundle(pack, 500, 0.001).folder.rglob("*") if path.stat().st_size > _BLOCK)
    for path in files:
        with path.open("rb") as file:
            for _ in range(max(1, _SAMPLE // _BLOCK // len(files))):
                block = file.read(_BLOCK)
                yield bytearray(block[: block.rfind(b"\n") + 1] + bytes(ROOM))
