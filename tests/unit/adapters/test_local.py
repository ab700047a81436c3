"""What only the local adapters do."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from affidavit.adapters.local.objects import DirectoryObjectStore
from affidavit.adapters.local.table import SqliteTable
from affidavit.errors import InputRefused, InvariantBroken, UpstreamFailed
from affidavit.ports.clock import SystemClock
from affidavit.ports.table import Key, Put


def test_a_key_cannot_be_an_object_and_a_folder(tmp_path: Path) -> None:
    store = DirectoryObjectStore(tmp_path)
    store.put("a/b", b"x", purpose="test")
    for key in ("a", "a/b/c"):
        with pytest.raises(InputRefused):
            store.put(key, b"y", purpose="test")
        with pytest.raises(InputRefused):
            store.put_new(key, b"y", purpose="test")
    assert store.get("a/b") == b"x"


def test_no_unfinished_write_is_listed_or_left(tmp_path: Path) -> None:
    store = DirectoryObjectStore(tmp_path)
    store.put("a", b"x", purpose="test")
    store.put_new("a", b"y", purpose="test")
    (tmp_path / ".incoming" / "crashed").write_bytes(b"half")
    assert [stored.key for stored in store.list("")] == ["a"]
    assert [path.name for path in (tmp_path / ".incoming").iterdir()] == ["crashed"]


def test_a_file_under_a_name_that_is_no_text_hides_no_object(tmp_path: Path) -> None:
    store = DirectoryObjectStore(tmp_path)
    for key in ("a/x", "z/x"):
        store.put(key, b"x", purpose="test")
    for place in (tmp_path, tmp_path / "a"):
        (place / os.fsdecode(b"folder\xff")).mkdir()
        (place / os.fsdecode(b"file\xff")).write_bytes(b"x")
        (place / os.fsdecode(b"folder\xff") / "y").write_bytes(b"x")
    assert [stored.key for stored in store.list("")] == ["a/x", "z/x"]
    assert list(store.folders("")) == ["a", "z"]


def test_reading_makes_no_folder(tmp_path: Path) -> None:
    store = DirectoryObjectStore(tmp_path / "objects")
    assert list(store.list("")) == []
    assert store.head("a") is None
    assert not (tmp_path / "objects").exists()


def test_reading_a_table_makes_no_file_and_the_first_write_is_read_at_once(tmp_path: Path) -> None:
    table = SqliteTable(tmp_path / "data" / "state", "t", SystemClock())
    assert table.get(Key(pk="a", sk="b")) is None
    assert list(table.query("a")) == list(table.due_before("x", 1.0)) == []
    assert not (tmp_path / "data").exists()
    table.write(Put(item={"pk": "a", "sk": "b"}))
    assert table.get(Key(pk="a", sk="b")) is not None
    assert SqliteTable(tmp_path / "elsewhere", "t", SystemClock()).get(Key(pk="a", sk="b")) is None


def test_tables_of_two_files_cannot_be_written_together(tmp_path: Path) -> None:
    one, two = (SqliteTable(tmp_path / name, "t", SystemClock()) for name in ("one", "two"))
    with pytest.raises(InvariantBroken):
        one.write_all([Put(item={"pk": "a", "sk": "b"}, table=two)])


def test_a_file_that_is_no_database_is_an_outage_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "state").write_bytes(b"not a database" * 1000)
    with pytest.raises(UpstreamFailed) as failure:
        SqliteTable(tmp_path / "state", "t", SystemClock()).get(Key(pk="a", sk="b"))
    assert failure.value.hint


def test_a_folder_that_cannot_be_made_is_an_outage(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UpstreamFailed):
        SqliteTable(tmp_path / "file" / "state", "t", SystemClock()).get(Key(pk="a", sk="b"))


BUILD = """
import socket, sys
def refuse(*_): raise AssertionError("a network was touched")
socket.socket.connect = socket.getaddrinfo = refuse
from affidavit.bootstrap import build_app
from affidavit.settings import Settings
app = build_app(Settings.from_environment({environment}))
print(type(app.objects).__name__, type(app.state).__name__, app.collector is not None, "botocore" in sys.modules)
"""


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "DirectoryObjectStore SqliteTable False False"),
        ({"LOGS_BUCKET": "b", "ALERT_TOPIC_ARN": "arn:t"}, "S3ObjectStore DynamoTable True True"),
    ],
)
def test_an_app_is_built_without_a_network_and_a_local_one_without_botocore(
    environment: dict[str, str], expected: str, tmp_path: Path
) -> None:
    built = subprocess.run(
        [sys.executable, "-c", BUILD.format(environment=environment)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
        timeout=60,
    )
    assert built.stdout.strip() == expected
    assert list(tmp_path.iterdir()) == []


def test_state_is_for_its_owner_alone_also_a_file_that_was_wider(tmp_path: Path) -> None:
    wide = tmp_path / "state.sqlite"
    wide.touch(mode=0o644)
    for file in (wide, tmp_path / "new.sqlite"):
        SqliteTable(file, "t", SystemClock()).write(Put(item={"pk": "a", "sk": "b"}))
        written = [one for one in tmp_path.iterdir() if one.name.startswith(file.name)]
        assert {stat.S_IMODE(one.stat().st_mode) for one in written} == {0o600}


def test_what_a_server_with_threads_writes_is_seen_after_another_program_came_and_went(tmp_path: Path) -> None:
    file = tmp_path / "state.sqlite"
    table = SqliteTable(file, "t", SystemClock())
    look = (
        "import sqlite3, sys; print([row[0] for row in sqlite3.connect(sys.argv[1]).execute('select pk from items')])"
    )

    def seen() -> str:
        command = [sys.executable, "-I", "-c", look, str(file)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    table.write(Put(item={"pk": "first", "sk": "x"}))
    other = threading.Thread(target=lambda: table.get(Key(pk="first", sk="x")))
    other.start()
    other.join()
    assert seen() == "['first']"
    table.write(Put(item={"pk": "second", "sk": "x"}))
    assert seen() == "['first', 'second']"
