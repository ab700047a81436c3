"""What every object store promises."""

import multiprocessing
import threading
import urllib.request
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from affidavit.errors import InputRefused, NotFound
from affidavit.ports.object_store import ObjectMissing, ObjectStore
from tests.contracts.places import Place

KEY = "eks_i-0abc/extracted/system/x.log"
WRITERS = 12


def put(objects: ObjectStore, key: str, data: bytes = b"") -> None:
    objects.put(key, data, purpose="test")


def keys(objects: ObjectStore, prefix: str) -> list[str]:
    return [stored.key for stored in objects.list(prefix)]


@pytest.mark.parametrize("data", [b"", b"x", bytes(range(256)) * 9000], ids=["empty", "one byte", "2 MB"])
def test_bytes_come_back_as_they_went(objects: ObjectStore, data: bytes) -> None:
    put(objects, KEY, data)
    assert objects.get(KEY) == data
    assert objects.read(KEY, 0, len(data) + 10) == data
    assert objects.local_copy(KEY).read_bytes() == data


def test_a_second_put_replaces_the_first(objects: ObjectStore) -> None:
    put(objects, KEY, b"long first text")
    assert objects.local_copy(KEY).read_bytes() == b"long first text"
    put(objects, KEY, b"second")
    assert objects.get(KEY) == b"second"
    assert objects.local_copy(KEY).read_bytes() == b"second"


def test_head_tells_size_and_time(objects: ObjectStore) -> None:
    put(objects, KEY, b"12345")
    stored = objects.head(KEY)
    assert stored is not None
    assert (stored.key, stored.size) == (KEY, 5)
    assert abs(stored.modified - datetime.now(UTC)) < timedelta(minutes=5)


def test_what_is_not_there_is_missing_to_every_method(objects: ObjectStore) -> None:
    put(objects, "eks_i-0abc/other")
    assert objects.head(KEY) is None
    assert objects.head("eks_i-0abc") is None
    assert keys(objects, "nothing/") == []
    for attempt in (
        lambda: objects.get(KEY),
        lambda: objects.read(KEY, 0, 5),
        lambda: objects.read(KEY, 0, 0),
        lambda: objects.local_copy(KEY),
        lambda: objects.link(KEY, seconds=60),
    ):
        with pytest.raises(ObjectMissing) as missing:
            attempt()
        assert isinstance(missing.value, NotFound)
        assert missing.value.hint


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [(0, 3, b"abc"), (2, 5, b"cde"), (4, 100, b"ef"), (6, 9, b""), (50, 60, b""), (3, 3, b""), (0, 6, b"abcdef")],
)
def test_a_range_is_end_exclusive_and_stops_at_the_end(
    objects: ObjectStore, start: int, end: int, expected: bytes
) -> None:
    put(objects, KEY, b"abcdef")
    assert objects.read(KEY, start, end) == expected


@pytest.mark.parametrize(("start", "end"), [(-1, 5), (5, 4)])
def test_a_range_that_is_none_is_refused(objects: ObjectStore, start: int, end: int) -> None:
    put(objects, KEY, b"abcdef")
    with pytest.raises(InputRefused):
        objects.read(KEY, start, end)


def test_a_file_is_stored_whole(objects: ObjectStore, tmp_path: Path) -> None:
    data = bytes(range(256)) * 40_000  # 10 MB: more than one part
    (tmp_path / "big").write_bytes(data)
    objects.put_file(KEY, tmp_path / "big", purpose="test")
    assert objects.get(KEY) == data
    assert objects.read(KEY, 9_000_000, 9_000_300) == data[9_000_000:9_000_300]
    assert (tmp_path / "big").read_bytes() == data


def test_a_file_that_is_not_there_is_refused(objects: ObjectStore, tmp_path: Path) -> None:
    with pytest.raises(InputRefused):
        objects.put_file(KEY, tmp_path / "none", purpose="test")


def test_put_new_writes_once(objects: ObjectStore) -> None:
    assert objects.put_new(KEY, b"first", purpose="test")
    assert not objects.put_new(KEY, b"second", purpose="test")
    assert objects.get(KEY) == b"first"


def test_of_many_threads_one_puts_the_new_object(objects: ObjectStore) -> None:
    start = threading.Barrier(WRITERS)

    def create(writer: int) -> list[bool]:
        start.wait(30)
        return [objects.put_new(f"race/{n}", f"{writer}".encode(), purpose="test") for n in range(5)]

    with ThreadPoolExecutor(WRITERS) as pool:
        won = list(pool.map(create, range(WRITERS)))
    assert [sum(results[number] for results in won) for number in range(5)] == [1] * 5
    for number in range(5):
        assert won[int(objects.get(f"race/{number}"))][number]


def create_in_a_process(place: Place, writer: int) -> list[bool]:
    objects = place.objects()
    return [objects.put_new(f"race/{number}", f"{writer}".encode(), purpose="test") for number in range(20)]


def test_of_many_processes_one_puts_the_new_object(object_place: Place) -> None:
    with ProcessPoolExecutor(3, mp_context=multiprocessing.get_context("spawn")) as pool:
        won = [future.result(60) for future in [pool.submit(create_in_a_process, object_place, n) for n in range(3)]]
    assert [sum(results[number] for results in won) for number in range(20)] == [1] * 20


def test_a_reader_sees_one_version_or_the_other(objects: ObjectStore) -> None:
    versions = [bytes([letter]) * 300_000 for letter in b"ab"]
    put(objects, KEY, versions[0])
    done = threading.Event()

    def rewrite() -> None:
        for number in range(30):
            put(objects, KEY, versions[number % 2])
        done.set()

    writer = threading.Thread(target=rewrite)
    writer.start()
    while not done.is_set():
        assert objects.get(KEY) in versions
        assert objects.local_copy(KEY).read_bytes() in versions
    writer.join()


def test_a_listing_is_in_byte_order_of_keys(objects: ObjectStore) -> None:
    names = ["a/b", "a-b", "a.b", "a/b.c", "a/c/d", "a0", "B", "ä", "\U0001f525/x", "a/b-c", "a b+c%20", "\uffff"]
    for name in names:
        put(objects, name, name.encode())
    assert keys(objects, "") == sorted(names, key=str.encode)
    assert [stored.size for stored in objects.list("a/b")] == [3, 5, 5]
    assert keys(objects, "a/b") == ["a/b", "a/b-c", "a/b.c"]
    assert keys(objects, "a/") == ["a/b", "a/b-c", "a/b.c", "a/c/d"]
    assert keys(objects, "a/c/d/") == []


def test_folders_are_listed_once_each_and_from_any_of_them_on(objects: ObjectStore) -> None:
    names = ["eks_i-0a", "eks_i-0a-b", "eks_i-0b", "eks_i-0b0", "other"]
    for name in names:
        put(objects, f"{name}/extracted/x.log")
        put(objects, f"{name}/extracted/y/z.log")
    put(objects, "eks_i-0alone")
    assert list(objects.folders("eks_i-")) == ["eks_i-0a-b", "eks_i-0a", "eks_i-0b", "eks_i-0b0"]
    for at, name in enumerate(names):
        rest = list(objects.folders("eks_i-", after=name))
        everything = list(objects.folders("eks_i-"))
        assert rest == (everything[everything.index(name) + 1 :] if name in everything else []), (at, name)
    assert list(objects.folders("nothing")) == []
    with pytest.raises(InputRefused):
        list(objects.folders("eks_i-0a/"))


def test_a_listing_goes_past_a_thousand_keys(objects: ObjectStore) -> None:
    names = [f"eks_i-1/f{number:04}" for number in range(1050)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: put(objects, name), names))
    assert keys(objects, "eks_i-1/") == names


LONG = "/".join(["s" * 200] * 5)[:1024]


@pytest.mark.parametrize(
    "key", [LONG, "a/" + "x" * 255, " /~ ", "-", "new\nline", "a\\b", "..a/b..", "a/...", "é" * 120]
)
def test_unusual_keys_are_kept(objects: ObjectStore, key: str) -> None:
    put(objects, key, b"here")
    assert objects.get(key) == b"here"
    assert keys(objects, key[:1]) == [key]


@pytest.mark.parametrize(
    "key",
    [
        *("", "/a", "a/", "a//b", "..", "../a", "a/../b", "./a", "a/."),
        *("a\0b", "x" * 256, "/".join(["y" * 100] * 11), "\ud800", ".incoming/x"),
    ],
)
def test_a_key_that_leaves_its_place_or_cannot_be_held_is_refused(
    objects: ObjectStore, key: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"x")
    for attempt in (
        lambda: put(objects, key),
        lambda: objects.put_new(key, b"", purpose="test"),
        lambda: objects.put_file(key, tmp_path / "file", purpose="test"),
        lambda: objects.get(key),
        lambda: objects.read(key, 0, 1),
        lambda: objects.head(key),
        lambda: objects.local_copy(key),
        lambda: objects.link(key, seconds=5),
    ):
        with pytest.raises(InputRefused):
            attempt()


@pytest.mark.parametrize("prefix", ["/", "../", "a/../", "./", "a//b", "\0"])
def test_a_prefix_that_climbs_is_refused(objects: ObjectStore, prefix: str) -> None:
    with pytest.raises(InputRefused):
        list(objects.list(prefix))


def test_a_link_leads_to_the_bytes(objects: ObjectStore) -> None:
    put(objects, KEY, b"linked")
    link = objects.link(KEY, seconds=60)
    url = link if link.startswith("http") else Path(link).as_uri()
    assert urllib.request.urlopen(url, timeout=10).read() == b"linked"
