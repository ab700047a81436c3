"""Checks the tokens of EKS: a presigned request to STS, signed by keys of this sandbox and for this cluster."""

import base64
import binascii
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

from affidavit.sandbox.access.keys import SandboxKeys
from affidavit.sandbox.access.request_head import RequestHead, RequestRefused
from affidavit.sandbox.access.signatures import check_signature, needed_secret, read_signature, secret_among

_PREFIX = "Bearer k8s-aws-v1."
_LASTS = timedelta(minutes=15)
_TIME = "%Y%m%dT%H%M%SZ"


def is_let_in(authorization: str, cluster: str, keys: SandboxKeys) -> bool:
    """Whether this header proves who holds our keys, for this cluster, within the last 15 minutes."""
    if not authorization.startswith(_PREFIX):
        return False
    try:
        token = authorization.removeprefix(_PREFIX)
        url = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
        _check(url, cluster, keys)
    except (RequestRefused, ValueError, KeyError, binascii.Error):
        return False
    return True


def _check(url: str, cluster: str, keys: SandboxKeys) -> None:
    place = urlsplit(url)
    query = parse_qs(place.query)
    if query["Action"] != ["GetCallerIdentity"]:
        raise ValueError("another action than GetCallerIdentity")
    signed_at = datetime.strptime(query["X-Amz-Date"][0], _TIME).replace(tzinfo=UTC)
    if not signed_at - _LASTS < datetime.now(UTC) < signed_at + _LASTS:
        raise ValueError("out of date")
    headers = (("host", place.netloc), ("x-k8s-aws-id", cluster))
    head = RequestHead(method="GET", target=f"{place.path}?{place.query}", headers=headers)
    signature = read_signature(head, now=signed_at)
    if "x-k8s-aws-id" not in signature.signed_headers:
        raise ValueError("the cluster is not signed")
    check_signature(signature, head, b"", needed_secret(signature, secret_among(keys)))
