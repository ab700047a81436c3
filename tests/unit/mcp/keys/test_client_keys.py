"""Keys of clients in a file: who they open for, what they may do, and that taking one away needs no restart."""

import asyncio
import hashlib
from pathlib import Path

import pytest

from affidavit.entrypoints.http.client_keys import ClientKeys, add_client_key, revoke_client_key
from affidavit.errors import Conflict, InputRefused, NotFound


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "clients.keys"


def scopes_of(keys: ClientKeys, key: str) -> tuple[str, ...] | None:
    """What the key opens; None when it opens nothing."""
    token = asyncio.run(keys.verify_token(key))
    return None if token is None else (token.client_id, *token.scopes)


def test_each_client_has_the_scopes_of_its_own_key(file: Path) -> None:
    reader = add_client_key(file, "reader", ["read"])
    collector = add_client_key(file, "collector", ["read", "collect"])
    keys = ClientKeys(file)
    assert scopes_of(keys, reader) == ("key:reader", "affidavit:read")
    assert scopes_of(keys, collector) == ("key:collector", "affidavit:collect", "affidavit:read")
    assert scopes_of(keys, "another-key-0123456789") is None
    assert scopes_of(keys, "") is None


def test_the_file_holds_digests_and_no_key_and_is_for_its_owner_alone(file: Path) -> None:
    key = add_client_key(file, "reader", ["read"])
    assert key not in file.read_text()
    assert hashlib.sha256(key.encode()).hexdigest() in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_digest_opens_nothing(file: Path) -> None:
    key = add_client_key(file, "reader", ["read"])
    assert scopes_of(ClientKeys(file), hashlib.sha256(key.encode()).hexdigest()) is None


def test_a_revoked_key_opens_nothing_at_once_and_the_others_still_do(file: Path) -> None:
    gone, kept = (add_client_key(file, name, ["read"]) for name in ("gone", "kept"))
    keys = ClientKeys(file)
    assert scopes_of(keys, gone) is not None
    revoke_client_key(file, "gone")
    assert scopes_of(keys, gone) is None
    assert scopes_of(keys, kept) is not None
    late = add_client_key(file, "gone", ["read", "files"])
    assert scopes_of(keys, late) == ("key:gone", "affidavit:files", "affidavit:read")
    assert scopes_of(keys, gone) is None


def test_without_the_file_no_key_opens(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    key = add_client_key(file, "reader", ["read"])
    keys, text = ClientKeys(file), file.read_text()
    file.unlink()
    assert scopes_of(keys, key) is None
    assert "cannot be read" in caplog.text
    file.write_text(text)
    assert scopes_of(keys, key) is not None
    with pytest.raises(InputRefused, match="cannot be read"):
        ClientKeys(file.with_name("none"))


@pytest.mark.parametrize(
    "spoilt", ["reader {0}", "reader {0} read extra", "reader {0} write", "réader {0} read", "{0}"]
)
def test_a_line_that_cannot_be_read_opens_nothing_and_is_told(
    file: Path, spoilt: str, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = "a-bad-key-0123456789", add_client_key(file, "good", ["read"])
    with file.open("a") as lines:
        lines.write(spoilt.format(hashlib.sha256(bad.encode()).hexdigest()) + "\n")
    keys = ClientKeys(file)
    assert scopes_of(keys, bad) is None
    assert scopes_of(keys, good) is not None
    assert "line 3" in caplog.text


def test_a_file_that_everybody_may_write_is_refused_also_when_it_becomes_so(file: Path) -> None:
    key = add_client_key(file, "reader", ["read"])
    keys = ClientKeys(file)
    file.chmod(0o666)
    assert scopes_of(keys, key) is None
    with pytest.raises(InputRefused, match="everybody may write"):
        ClientKeys(file)


def test_a_file_keeps_its_mode_and_a_link_to_it_stays_one(file: Path) -> None:
    add_client_key(file, "reader", ["read"])
    file.chmod(0o640)
    link = file.with_name("link")
    link.symlink_to(file)
    add_client_key(link, "second", ["read"])
    assert link.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o640
    assert "second" in file.read_text()


def test_comments_of_the_operator_stay(file: Path) -> None:
    file.write_text("# ours\n\nreader " + "0" * 64 + " read")
    add_client_key(file, "second", ["read"])
    revoke_client_key(file, "reader")
    first, _, last = file.read_text().splitlines()
    assert (first, last.split()[0]) == ("# ours", "second")


@pytest.mark.parametrize(
    ("name", "scopes", "said"),
    [("a b", ["read"], "name"), ("", ["read"], "name"), ("a", ["collect"], "read"), ("a", ["read", "all"], "no scope")],
)
def test_a_key_that_could_not_be_used_is_refused(file: Path, name: str, scopes: list[str], said: str) -> None:
    with pytest.raises(InputRefused, match=said):
        add_client_key(file, name, scopes)
    assert not file.exists()


def test_a_client_has_one_key_and_only_one_that_is_there_can_be_revoked(file: Path) -> None:
    add_client_key(file, "reader", ["read"])
    with pytest.raises(Conflict, match="has a key"):
        add_client_key(file, "reader", ["read"])
    with pytest.raises(NotFound, match="no key"):
        revoke_client_key(file, "read")
