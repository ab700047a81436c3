"""Checks AWS signatures (version 4, in a header or a presigned address) with botocore's own signer."""

import hashlib
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

from botocore.auth import (  # pyright: ignore[reportMissingTypeStubs] - it ships none
    S3SigV4Auth,
    S3SigV4QueryAuth,
    SigV4Auth,
    SigV4QueryAuth,
)
from botocore.awsrequest import AWSRequest  # pyright: ignore[reportMissingTypeStubs] - it ships none
from botocore.credentials import Credentials  # pyright: ignore[reportMissingTypeStubs] - it ships none

from affidavit.sandbox.access.keys import SandboxKeys
from affidavit.sandbox.access.request_head import RequestHead, RequestRefused

# As AWS allows them: how far clocks may differ, and how long a presigned address may hold.
CLOCK_DIFFERENCE = timedelta(minutes=15)
LONGEST_PRESIGNED = timedelta(days=7)
_ALGORITHM = "AWS4-HMAC-SHA256"
_TIME = "%Y%m%dT%H%M%SZ"
_DIGEST = re.compile(r"[0-9a-f]{64}")
_FIELDS = re.compile(r"(Credential|SignedHeaders|Signature)=([^,\s]+)")

SecretOf = Callable[["RequestSignature"], str | None]
"""The secret of the key that a request names; None for a key that nobody was given."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestSignature:
    access_key: str
    date: str
    region: str
    service: str
    signed_headers: tuple[str, ...]
    signature: str
    signed_at: str
    token: str
    lasts: timedelta | None
    """Of a presigned address."""


def read_signature(head: RequestHead, *, now: datetime | None = None) -> RequestSignature:
    """Raises RequestRefused for a request without a signature, or with one out of date."""
    query = parse_qs(urlsplit(head.target).query, keep_blank_values=True)
    try:
        found = _of_query(query) if "X-Amz-Signature" in query else _of_headers(head)
        _refuse_untimely(found, now or datetime.now(UTC))
    except (KeyError, ValueError, OverflowError) as error:
        raise RequestRefused("IncompleteSignature", "the request is not signed as AWS wants it") from error
    if "host" not in found.signed_headers:
        raise RequestRefused("IncompleteSignature", "the signature does not cover the Host")
    return found


def check_signature(signature: RequestSignature, head: RequestHead, body: bytes, secret: str) -> None:
    """Raises RequestRefused unless whoever signed holds the secret and signed this very request."""
    digest = head.header("x-amz-content-sha256")
    if _DIGEST.fullmatch(digest) and not _are_equal(digest, hashlib.sha256(body).hexdigest()):
        raise RequestRefused("XAmzContentSHA256Mismatch", "the body is not the one that was signed")
    if not _are_equal(_expected(signature, head, body, secret), signature.signature):
        raise RequestRefused("SignatureDoesNotMatch", "the request is signed with another secret")


def refuse_unsigned(head: RequestHead, body: bytes, keys: SandboxKeys) -> None:
    """Raises RequestRefused unless the request is signed with these keys."""
    signature = read_signature(head)
    check_signature(signature, head, body, needed_secret(signature, secret_among(keys)))


def secret_among(keys: SandboxKeys) -> SecretOf:
    def secret_of(signature: RequestSignature) -> str | None:
        return keys.secret_key if _are_equal(signature.access_key, keys.access_key) else None

    return secret_of


def needed_secret(signature: RequestSignature, secret_of: SecretOf) -> str:
    secret = secret_of(signature)
    if secret is None:
        raise RequestRefused("InvalidClientTokenId", "this sandbox has no such key")
    return secret


def signed_headers(keys: SandboxKeys, url: str, *, region: str, service: str) -> dict[str, str]:
    """Of a GET without a body, for programs that speak HTTP themselves."""
    request: Any = AWSRequest(method="GET", url=url)
    signer: Any = SigV4Auth(Credentials(keys.access_key, keys.secret_key), service, region)
    signer.add_auth(request)
    return dict(request.headers.items())


def _of_headers(head: RequestHead) -> RequestSignature:
    algorithm, _, rest = head.header("authorization").partition(" ")
    if algorithm != _ALGORITHM:
        raise ValueError(algorithm)
    fields = dict(_FIELDS.findall(rest))
    return _signature(fields, signed_at=head.header("x-amz-date"), token=head.header("x-amz-security-token"))


def _of_query(query: dict[str, list[str]]) -> RequestSignature:
    if query["X-Amz-Algorithm"] != [_ALGORITHM]:
        raise ValueError(query["X-Amz-Algorithm"])
    fields = {name: query[f"X-Amz-{name}"][0] for name in ("Credential", "SignedHeaders", "Signature")}
    return _signature(
        fields,
        signed_at=query["X-Amz-Date"][0],
        token=query.get("X-Amz-Security-Token", [""])[0],
        lasts=timedelta(seconds=int(query["X-Amz-Expires"][0])),
    )


def _signature(
    fields: dict[str, str], *, signed_at: str, token: str, lasts: timedelta | None = None
) -> RequestSignature:
    access_key, date, region, service, end = fields["Credential"].split("/")
    if end != "aws4_request" or date != signed_at[:8]:
        raise ValueError(fields["Credential"])
    return RequestSignature(
        access_key=access_key,
        date=date,
        region=region,
        service=service,
        signed_headers=tuple(fields["SignedHeaders"].lower().split(";")),
        signature=fields["Signature"],
        signed_at=signed_at,
        token=token,
        lasts=lasts,
    )


def _refuse_untimely(signature: RequestSignature, now: datetime) -> None:
    signed_at = datetime.strptime(signature.signed_at, _TIME).replace(tzinfo=UTC)
    lasts = CLOCK_DIFFERENCE if signature.lasts is None else min(signature.lasts, LONGEST_PRESIGNED)
    if not signed_at - CLOCK_DIFFERENCE <= now <= signed_at + lasts:
        raise RequestRefused("RequestExpired", "the signature is out of date")


def _expected(signature: RequestSignature, head: RequestHead, body: bytes, secret: str) -> str:
    request: Any = AWSRequest(method=head.method, url=_url(head), data=body)
    for name, value in head.headers:
        if name in signature.signed_headers:
            request.headers.add_header(name, value)
    request.context["timestamp"] = signature.signed_at
    signer = _signer(signature, Credentials(signature.access_key, secret))
    return signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)


def _signer(signature: RequestSignature, credentials: Credentials) -> Any:
    is_s3 = signature.service == "s3"
    if signature.lasts is None:
        return (S3SigV4Auth if is_s3 else SigV4Auth)(credentials, signature.service, signature.region)
    return (S3SigV4QueryAuth if is_s3 else SigV4QueryAuth)(credentials, signature.service, signature.region)


def _url(head: RequestHead) -> str:
    path, _, query = head.target.partition("?")
    kept = "&".join(pair for pair in query.split("&") if not pair.startswith("X-Amz-Signature="))
    return f"http://{head.header('host')}{path}?{kept}"


def _are_equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())
