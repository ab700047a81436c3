"""Ed25519 keys in PEM files: makes them, reads them, signs with them."""

import hashlib
import os
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from affidavit.errors import EvidenceUnavailable, InputRefused

PRIVATE_NAME = "affidavit.key"
PUBLIC_NAME = "affidavit.pub"
_NEW_HINT = "`affidavit keys new` makes a pair"


class FileSigner:
    """Signs with a private key in a PEM file."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key

    @property
    def key_id(self) -> str:
        return key_id_of(self._key.public_key())

    def sign(self, message: bytes) -> bytes:
        return self._key.sign(message)


def key_id_of(key: Ed25519PublicKey) -> str:
    der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(der).hexdigest()


def is_signed_by(key: Ed25519PublicKey, message: bytes, signature: bytes) -> bool:
    try:
        key.verify(signature, message)
    except InvalidSignature:
        return False
    return True


def read_signer(path: Path) -> FileSigner:
    """Raises InputRefused when the file is no Ed25519 private key, or when others may read it."""
    content = _content(path)
    if path.stat().st_mode & 0o077:
        raise InputRefused(f"{path} can be read by others than its owner", hint=f"chmod 600 {path}")
    try:
        key = serialization.load_pem_private_key(content, password=None)
    except (ValueError, TypeError) as error:
        raise InputRefused(f"{path} is no private key in PEM without a password", hint=_NEW_HINT) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise InputRefused(f"{path} is no Ed25519 key", hint=_NEW_HINT)
    return FileSigner(key)


def read_public_key(path: Path) -> Ed25519PublicKey:
    try:
        key = serialization.load_pem_public_key(_content(path))
    except ValueError as error:
        raise InputRefused(f"{path} is no public key in PEM", hint=_NEW_HINT) from error
    if not isinstance(key, Ed25519PublicKey):
        raise InputRefused(f"{path} is no Ed25519 key", hint=_NEW_HINT)
    return key


def write_new_keys(folder: Path) -> tuple[Path, Path]:
    """A new pair; the private key is for its owner alone. Never overwrites a key."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    written = (folder / PRIVATE_NAME, folder / PUBLIC_NAME)
    for path, content, mode in ((written[0], private, 0o600), (written[1], public, 0o644)):
        _write_new(path, content, mode)
    return written


def _write_new(path: Path, content: bytes, mode: int) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode), "wb") as file:
            file.write(content)
    except FileExistsError:
        raise InputRefused(
            f"{path} is there already", hint="keys are never overwritten: choose another --out"
        ) from None
    except OSError as error:
        raise EvidenceUnavailable(f"{path} cannot be written: {error.strerror}", hint="choose another --out") from error


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputRefused(f"{path} cannot be read: {error.strerror}", hint=_NEW_HINT) from error
