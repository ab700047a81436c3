"""Names as an attacker writes them never become a path outside the bundle."""

import json
import os
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from affidavit.bundle.safety.limits import UnpackLimits
from affidavit.bundle.safety.paths import UnsafeName, collision_key, known_as, printable, safe_path, shown
from affidavit.bundle.safety.used_paths import Names

LIMITS = UnpackLimits()

# What tar and directories hand over: any text, and bytes that are not UTF-8 as half characters.
raw_names = st.binary(max_size=60).map(lambda raw: raw.decode("utf-8", "surrogateescape"))
tricky = st.lists(st.sampled_from(["..", ".", "", "/", "\\", "C:", "a", "\0", "\n", "\x1b", "é", "\udcff", " ", "~"]))
names = st.one_of(st.text(st.characters(), max_size=40), raw_names, tricky.map("".join), tricky.map("/".join))


@given(names, st.sampled_from(["", "x.tar.gz/", "a/b.gz/"]))
@example("..", "")
@example("a/../b", "")
@example("C:\\x", "")
@example("\ud800", "")
@example("..\x85", "")
def test_a_safe_path_stays_inside_whatever_the_name(name: str, within: str) -> None:
    try:
        path = safe_path(name, within=within, limits=LIMITS)
    except UnsafeName:
        return
    parts = path.split("/")
    assert not {"", ".", ".."} & set(parts)
    assert ".." not in path.replace("\\", "/").split("/")
    assert not path.startswith("/") and path.startswith(within)
    assert os.path.normpath(f"/base/{path}") == f"/base/{path}"
    assert path.isprintable() and all(len(part.encode()) <= 255 for part in parts)
    assert len(path.encode()) <= LIMITS.longest_path and len(parts) <= LIMITS.deepest_path


@given(names)
def test_a_printable_name_can_be_shown_and_stored(name: str) -> None:
    assert printable(name).isprintable()
    assert json.loads(json.dumps(printable(name)).encode()) == printable(name)
    assert 0 < len(shown(name)) <= 201 and shown(name).isprintable()


@given(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=40))
def test_an_honest_name_is_not_changed(name: str) -> None:
    assert printable(name) == name


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../x", "leaves the bundle"),
        ("a/..", "leaves the bundle"),
        ("a\\..\\..\\x", "leaves the bundle"),
        ("/etc/passwd", "absolute"),
        ("\\\\server\\x", "absolute"),
        ("c:x", "absolute"),
        ("", "empty"),
        ("././/", "empty"),
        ("a\nb", "control characters"),
        ("a\x7f", "control characters"),
        ("x" * 256, "too long"),
        ("é" * 128, "too long"),
        ("\udcff" * 64, "too long"),
        ("dir/" * 50 + "y" * 900, "too long"),
        ("a/" * 32 + "b", "folders deep"),
    ],
)
def test_a_refused_name_comes_with_its_reason(name: str, reason: str) -> None:
    with pytest.raises(UnsafeName, match=reason):
        safe_path(name, limits=LIMITS)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("./kernel//dmesg.current", "kernel/dmesg.current"),
        ("var_log/dev-disk-by\\x2did.swap", "var_log/dev-disk-by\\x2did.swap"),
        ("a..b/..c/d..", "a..b/..c/d.."),
        ("var log/x y.log", "var log/x y.log"),
        ("folder/", "folder"),
    ],
)
def test_odd_but_honest_names_are_taken(name: str, path: str) -> None:
    assert safe_path(name, limits=LIMITS) == path


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Kernel/DMESG", "kernel/dmesg"),
        (unicodedata.normalize("NFC", "é"), unicodedata.normalize("NFD", "é")),
        (unicodedata.normalize("NFC", "É"), unicodedata.normalize("NFD", "é")),
        ("\u1e9b\u0323", "\u1e69"),
    ],
)
def test_two_names_that_some_file_system_takes_for_one_collide(one: str, other: str) -> None:
    names = Names(LIMITS)
    names.claim(one)
    with pytest.raises(UnsafeName, match="came before"):
        names.claim(other)


@given(st.text(max_size=20))
def test_a_collision_key_is_its_own_key(name: str) -> None:
    assert collision_key(collision_key(name)) == collision_key(name)


def test_a_file_where_a_folder_is_needed_is_refused_and_the_reverse() -> None:
    names = Names(LIMITS)
    names.claim("a/b")
    with pytest.raises(UnsafeName, match="needs a folder"):
        names.claim("a/b/c")
    with pytest.raises(UnsafeName, match="came before"):
        names.claim("a")


def test_an_archive_becomes_a_folder_that_takes_members_but_no_second_archive() -> None:
    names = Names(LIMITS)
    names.claim("a.tar.gz")
    names.becomes_folder("a.tar.gz")
    names.claim("a.tar.gz/x")
    with pytest.raises(UnsafeName):
        names.claim("a.tar.gz")


def test_folders_are_counted_so_that_deep_paths_cannot_exhaust_memory() -> None:
    names = Names(UnpackLimits(folders=10))
    names.claim("a/b/c/d/e/x")
    names.claim("a/b/c/d/e/y")
    names.claim("f/g/h/i/j/x")
    with pytest.raises(UnsafeName, match="more than 10 folders"):
        names.claim("k/x")


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("var_log/x.log.gz/x.log", "var_log/x.log.gz"),
        ("x.gz/x", "x.gz"),
        ("x.gz/y", "x.gz/y"),
        ("x.log", "x.log"),
        (".gz/content", ".gz/content"),
    ],
)
def test_a_rotated_log_is_known_by_the_name_it_had_in_the_bundle(path: str, known: str) -> None:
    assert known_as(path) == known


def test_no_path_that_is_safe_needs_a_file_system_to_be_forgiving(tmp_path: Path) -> None:
    longest = safe_path("/".join(["x" * 255] * 4)[:-1], limits=LIMITS)
    (tmp_path / longest).parent.mkdir(parents=True)
    (tmp_path / longest).write_bytes(b"")
