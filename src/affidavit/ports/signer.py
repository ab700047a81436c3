"""Signs bytes with a private key that the caller never sees."""

from typing import Protocol


class Signer(Protocol):
    @property
    def key_id(self) -> str:
        """The sha256 of the public key, by which a verifier finds it."""
        ...

    def sign(self, message: bytes) -> bytes:
        """An Ed25519 signature. Raises UpstreamFailed where the key lies elsewhere and cannot be asked."""
        ...
