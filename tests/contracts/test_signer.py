"""A key in a file and a key in KMS sign alike: what they sealed opens with their public key, and with no other."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from affidavit.errors import UpstreamFailed
from affidavit.ports.signer import Signer
from affidavit.signing.envelope import opened, sealed
from affidavit.signing.keys import read_public_key, read_signer, write_new_keys
from affidavit.signing.statement import statement_about

STATEMENT = statement_about({"findings_index.json": "ab" * 32}, "urn:test", {"coverage": 99.9})


@pytest.fixture(params=["file", "kms"])
def pair(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Signer, Ed25519PublicKey]:
    if request.param == "file":
        private, public = write_new_keys(tmp_path)
        return read_signer(private), read_public_key(public)
    from affidavit.adapters.aws.clients import AwsClients
    from affidavit.adapters.aws.kms_signer import KmsSigner

    for name, value in request.getfixturevalue("aws_environment").items():
        monkeypatch.setenv(name, value)
    clients = AwsClients("us-east-1")
    made = clients.client("kms").create_key(KeySpec="ECC_NIST_EDWARDS25519", KeyUsage="SIGN_VERIFY")
    signer = KmsSigner(clients, made["KeyMetadata"]["KeyId"])
    return signer, signer.public_key


def test_what_was_sealed_opens_with_the_public_key_alone(pair: tuple[Signer, Ed25519PublicKey], tmp_path: Path) -> None:
    signer, key = pair
    envelope = sealed(STATEMENT, signer)
    assert opened(envelope, key, name="x") == STATEMENT
    _, other = write_new_keys(tmp_path / "other")
    assert opened(envelope, read_public_key(other), name="x") is None


def test_a_key_that_kms_does_not_have_is_told(aws_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    from affidavit.adapters.aws.clients import AwsClients
    from affidavit.adapters.aws.kms_signer import KmsSigner

    for name, value in aws_environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UpstreamFailed, match="could not be asked"):
        _ = KmsSigner(AwsClients("us-east-1"), "00000000-0000-0000-0000-000000000000").public_key
