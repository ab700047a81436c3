"""DSSE envelopes: a payload with its type, and signatures over both."""

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any, cast

import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from affidavit.errors import InputRefused
from affidavit.ports.signer import Signer
from affidavit.signing.keys import is_signed_by, key_id_of

PAYLOAD_TYPE = "application/vnd.in-toto+json"


def sealed(statement: Mapping[str, Any], signer: Signer) -> bytes:
    """The statement in canonical JSON (RFC 8785), signed."""
    payload = rfc8785.dumps(dict(statement))
    signature = {"keyid": signer.key_id, "sig": _text(signer.sign(_signed_bytes(payload)))}
    envelope = {"payload": _text(payload), "payloadType": PAYLOAD_TYPE, "signatures": [signature]}
    return json.dumps(envelope, indent=1).encode() + b"\n"


def opened(text: bytes, key: Ed25519PublicKey, *, name: str) -> dict[str, Any] | None:
    """The statement, when the key signed it; None when it did not. Raises InputRefused for what is no envelope."""
    try:
        envelope = cast(dict[str, Any], json.loads(text))
        payload = base64.b64decode(envelope["payload"], validate=True)
        signatures = [
            base64.b64decode(each["sig"], validate=True)
            for each in cast(list[dict[str, Any]], envelope["signatures"])
            if each.get("keyid") in (None, "", key_id_of(key))
        ]
        is_ours = envelope["payloadType"] == PAYLOAD_TYPE
        statement = cast(dict[str, Any], json.loads(payload))
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error, RecursionError) as error:
        raise InputRefused(
            f"{name} is no DSSE envelope", hint="give it the statement.json that --sign wrote"
        ) from error
    message = _signed_bytes(payload)
    is_signed = is_ours and any(is_signed_by(key, message, signature) for signature in signatures)
    return statement if is_signed else None


def _signed_bytes(payload: bytes) -> bytes:
    """What DSSE signs: type and payload, each with its length, so that neither can be taken for the other."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
