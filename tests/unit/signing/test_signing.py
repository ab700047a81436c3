"""A signature holds for exactly what was signed, by exactly the key that signed it, and other tools can check it."""

import base64
import json
import stat
from pathlib import Path

import pytest
import rfc8785
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_public_key

from affidavit.errors import InputRefused
from affidavit.signing.envelope import opened, sealed
from affidavit.signing.keys import key_id_of, read_public_key, read_signer, write_new_keys
from affidavit.signing.statement import diagnosis_statement, statement_about, subject_differences

STATEMENT = statement_about({"findings_index.json": "ab" * 32}, "urn:test", {"coverage": 99.9, "rulePack": "é"})


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    return write_new_keys(tmp_path / "keys")


def test_what_was_sealed_opens_with_its_key_and_with_no_other(keys: tuple[Path, Path], tmp_path: Path) -> None:
    envelope = sealed(STATEMENT, read_signer(keys[0]))
    assert opened(envelope, read_public_key(keys[1]), name="x") == STATEMENT
    _, other = write_new_keys(tmp_path / "other")
    assert opened(envelope, read_public_key(other), name="x") is None


def test_the_envelope_is_dsse_as_its_specification_says(keys: tuple[Path, Path]) -> None:
    """Checked without any code of ours."""
    envelope = json.loads(sealed(STATEMENT, read_signer(keys[0])))
    payload, kind = base64.b64decode(envelope["payload"]), envelope["payloadType"].encode()
    assert payload == rfc8785.dumps(STATEMENT)
    assert kind == b"application/vnd.in-toto+json"
    message = b" ".join((b"DSSEv1", str(len(kind)).encode(), kind, str(len(payload)).encode(), payload))
    key = load_pem_public_key(keys[1].read_bytes())
    key.verify(base64.b64decode(envelope["signatures"][0]["sig"]), message)
    assert json.loads(payload)["_type"] == "https://in-toto.io/Statement/v1"


@pytest.mark.parametrize("part", ["payload", "sig", "payloadType"])
def test_a_changed_envelope_is_not_signed(part: str, keys: tuple[Path, Path]) -> None:
    envelope = json.loads(sealed(STATEMENT, read_signer(keys[0])))
    changed = base64.b64encode(rfc8785.dumps({**STATEMENT, "predicate": {}})).decode()
    if part == "payload":
        envelope["payload"] = changed
    elif part == "sig":
        envelope["signatures"][0]["sig"] = base64.b64encode(bytes(64)).decode()
    else:
        envelope["payloadType"] = "text/plain"
    assert opened(json.dumps(envelope).encode(), read_public_key(keys[1]), name="x") is None


@pytest.mark.parametrize(
    "text", [b"", b"{}", b"[]", b'{"payload": "?", "signatures": [], "payloadType": ""}', b"[" * 99999]
)
def test_what_is_no_envelope_is_refused(text: bytes, keys: tuple[Path, Path]) -> None:
    with pytest.raises(InputRefused, match="no DSSE envelope"):
        opened(text, read_public_key(keys[1]), name="statement.json")


def test_a_new_private_key_is_for_its_owner_alone_and_none_is_overwritten(keys: tuple[Path, Path]) -> None:
    assert stat.S_IMODE(keys[0].stat().st_mode) == 0o600
    with pytest.raises(InputRefused, match="is there already"):
        write_new_keys(keys[0].parent)


def test_a_private_key_that_others_can_read_is_refused(keys: tuple[Path, Path]) -> None:
    keys[0].chmod(0o644)
    with pytest.raises(InputRefused, match="can be read by others"):
        read_signer(keys[0])


def test_keys_of_another_kind_are_refused(keys: tuple[Path, Path], tmp_path: Path) -> None:
    other = tmp_path / "rsa.key"
    other.touch(mode=0o600)
    other.write_bytes(
        generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    with pytest.raises(InputRefused, match="no Ed25519 key"):
        read_signer(other)
    with pytest.raises(InputRefused, match="no public key"):
        read_public_key(keys[0])
    with pytest.raises(InputRefused, match="no private key"):
        other.write_bytes(b"nonsense")
        read_signer(other)


def test_the_key_id_tells_keys_apart(keys: tuple[Path, Path], tmp_path: Path) -> None:
    _, other = write_new_keys(tmp_path / "other")
    assert read_signer(keys[0]).key_id == key_id_of(read_public_key(keys[1])) != key_id_of(read_public_key(other))


def test_subjects_are_held_against_the_files_at_hand() -> None:
    files = {"findings_index.json": b"index", "report.html": b"page"}
    statement = diagnosis_statement("inc-1", files, {"holds": True})
    assert list(subject_differences(statement, files, None)) == []
    changed = list(subject_differences(statement, {**files, "report.html": b"other"}, None))
    assert changed == ["statement: report.html is not the file that was signed"]
    assert list(subject_differences(statement_about({}, "urn:test", {}), files, None)) == [
        "statement: it is not about an index"
    ]
    signed = statement_about({"findings_index.json": "00", "bundle.tar.gz": "ab"}, "urn:test", {})
    archive, _ = subject_differences(signed, files, "cd")
    assert "bundle.tar.gz was signed and is neither" in archive
