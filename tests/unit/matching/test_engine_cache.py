"""A kept engine finds what a built one finds, and a bad cache is only a slower start."""

from pathlib import Path

import pytest

from affidavit.matching import disk_cache
from affidavit.matching.engine_cache import KEPT
from affidavit.matching.matcher import ROOM, HyperscanMatcher, compile_matcher

LENGTH = len(b"one fish\ntwo birds\nred fish\n")
BLOCK = bytearray(b"one fish\ntwo birds\nred fish\n" + bytes(ROOM))
PATTERNS = [(1, "fish"), (2, r"^two \w+")]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("affidavit.matching.matcher.WORTH_KEEPING", 0.0)
    return tmp_path / "affidavit" / "engines"


def test_a_kept_engine_finds_what_a_built_one_finds(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = compile_matcher(PATTERNS).scan(BLOCK, LENGTH)
    assert len(list(cache.iterdir())) == 1
    monkeypatch.setattr("affidavit.matching.matcher._built", _never)
    assert compile_matcher(PATTERNS).scan(BLOCK, LENGTH) == built != []


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"\0" * 4096])
def test_a_damaged_cache_is_built_anew(cache: Path, damage: bytes) -> None:
    expected = compile_matcher(PATTERNS).scan(BLOCK, LENGTH)
    (kept,) = cache.iterdir()
    good = kept.read_bytes()
    kept.write_bytes(damage or good[:-1])
    assert compile_matcher(PATTERNS).scan(BLOCK, LENGTH) == expected
    assert len(kept.read_bytes()) == len(good)


def test_an_engine_of_other_patterns_is_never_taken(cache: Path) -> None:
    compile_matcher(PATTERNS)
    assert compile_matcher([(1, "birds")]).scan(BLOCK, LENGTH) != compile_matcher(PATTERNS).scan(BLOCK, LENGTH)


def test_a_folder_that_others_can_write_to_is_not_used(cache: Path) -> None:
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    assert compile_matcher(PATTERNS).scan(BLOCK, LENGTH)
    assert list(cache.iterdir()) == []


def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocker))
    assert compile_matcher(PATTERNS).scan(BLOCK, LENGTH)


def test_only_the_newest_engines_are_kept(cache: Path) -> None:
    for number in range(KEPT + 3):
        compile_matcher([(1, f"pattern {number}")])
    assert len(list(cache.iterdir())) == KEPT


def test_an_engine_in_use_outlives_newer_ones_that_are_not(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_matcher(PATTERNS)
    for number in range(KEPT + 3):
        compile_matcher([(1, f"pattern {number}")])
        compile_matcher(PATTERNS)
    monkeypatch.setattr("affidavit.matching.matcher._built", _never)
    assert compile_matcher(PATTERNS).scan(BLOCK, LENGTH)


def test_an_entry_that_the_wheel_carries_is_read_before_our_own_and_only_when_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    disk_cache.keep("documents", "name", b"shipped", most=4)
    shipped = (tmp_path / "affidavit").rename(tmp_path / "shipped")
    monkeypatch.setattr(disk_cache, "_SHIPPED", shipped)
    disk_cache.keep("documents", "name", b"own", most=4)
    assert disk_cache.read_kept("documents", "name") == b"shipped"
    (shipped / "documents" / "name").write_bytes(b"damaged" * 9)
    assert disk_cache.read_kept("documents", "name") == b"own"


def _never(*_arguments: object) -> HyperscanMatcher:
    raise AssertionError("the engine was built although it was kept")
