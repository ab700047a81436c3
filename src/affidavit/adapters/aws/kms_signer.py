"""Signs with an Ed25519 key in AWS KMS (key spec ECC_NIST_EDWARDS25519). The private key never leaves KMS."""

from functools import cached_property

from botocore.exceptions import BotoCoreError, ClientError
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from affidavit.adapters.aws.clients import AwsClients
from affidavit.errors import InputRefused, UpstreamFailed
from affidavit.signing.keys import key_id_of

_ALGORITHM = "ED25519_SHA_512"
# KMS takes no longer message in one piece.
_LONGEST = 4096


class KmsSigner:
    def __init__(self, clients: AwsClients, key: str) -> None:
        """`key` is a key id, an alias or an ARN."""
        self._client = clients.client("kms")
        self._key = key

    @property
    def key_id(self) -> str:
        return key_id_of(self.public_key)

    @cached_property
    def public_key(self) -> Ed25519PublicKey:
        try:
            der = self._client.get_public_key(KeyId=self._key)["PublicKey"]
        except (ClientError, BotoCoreError) as error:
            raise self._failed(error) from error
        key = serialization.load_der_public_key(der)
        if not isinstance(key, Ed25519PublicKey):
            raise InputRefused(
                f"the KMS key {self._key} is no Ed25519 key", hint="make one with key spec ECC_NIST_EDWARDS25519"
            )
        return key

    def sign(self, message: bytes) -> bytes:
        if len(message) > _LONGEST:
            raise InputRefused(
                f"the statement has {len(message)} bytes, and KMS signs {_LONGEST} at most", hint="sign with a key file"
            )
        try:
            answer = self._client.sign(KeyId=self._key, Message=message, MessageType="RAW", SigningAlgorithm=_ALGORITHM)
        except (ClientError, BotoCoreError) as error:
            raise self._failed(error) from error
        return bytes(answer["Signature"])

    def _failed(self, error: Exception) -> UpstreamFailed:
        return UpstreamFailed(
            f"KMS could not be asked for {self._key}: {error}", hint="check the key, its region and kms:Sign on it"
        )
