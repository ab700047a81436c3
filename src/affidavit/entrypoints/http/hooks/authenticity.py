"""Tells a real delivery from a forged one, for each source in its own way. All comparisons take constant time."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from affidavit.incidents.intake.hooks.readers import HookSource
from affidavit.wire.body_signature import SIGNATURE_HEADER, TIMESTAMP_HEADER, is_signed

WINDOW = timedelta(minutes=5)
# The name that Grafana's pages and form show, and the one that it uses where the form's field is left empty.
GRAFANA_SIGNATURES = ("x-grafana-alerting-signature", "x-grafana-alert-signature")
GRAFANA_TIMESTAMP = "x-grafana-alerting-timestamp"
PAGERDUTY_SIGNATURE = "x-pagerduty-signature"


@dataclass(frozen=True, kw_only=True, slots=True)
class Posted:
    """One request. Header names are in lower case."""

    headers: Mapping[str, str]
    body: bytes
    at: datetime

    def header(self, name: str) -> str:
        return self.headers.get(name, "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Genuine:
    """`once` names the delivery where it must not come twice."""

    once: str = ""


Check = Callable[[Posted, str], Genuine | None]


def by_token(posted: Posted, secret: str) -> Genuine | None:
    """A bearer token, or the password of basic authentication."""
    scheme, _, given = posted.header("authorization").partition(" ")
    if scheme.lower() == "basic":
        given = _password(given)
    elif scheme.lower() != "bearer":
        return None
    return Genuine() if _same(given, secret) else None


def by_grafana(posted: Posted, secret: str) -> Genuine | None:
    """A bearer token, or an HMAC over the body, with the time before it where Grafana is told to send one.

    With a time, a delivery is taken once. Without one, Grafana's own reminders have the same signature; they and
    replays are told by their alerts.
    """
    signature = next((given for name in GRAFANA_SIGNATURES if (given := posted.header(name))), "")
    stamp = posted.header(GRAFANA_TIMESTAMP)
    if not signature:
        return by_token(posted, secret)
    if stamp and not _is_recent(stamp, posted.at):
        return None
    signed = f"{stamp}:".encode() + posted.body if stamp else posted.body
    return Genuine(once=signature if stamp else "") if _same(signature, _hmac(secret, signed)) else None


def by_pagerduty(posted: Posted, secrets: str) -> Genuine | None:
    """Any of several signatures by any of several secrets: both sides change theirs one after the other."""
    given = [one.strip() for one in posted.header(PAGERDUTY_SIGNATURE).split(",")]
    expected = [f"v1={_hmac(secret, posted.body)}" for secret in secrets.split(",") if secret]
    return Genuine() if any(_same(one, other) for one in given for other in expected) else None


def by_our_signature(posted: Posted, secret: str) -> Genuine | None:
    stamp, signature = posted.header(TIMESTAMP_HEADER), posted.header(SIGNATURE_HEADER)
    if not _is_recent(stamp, posted.at) or not is_signed(secret, posted.body, stamp=stamp, signature=signature):
        return None
    return Genuine(once=signature)


CHECKS: Mapping[HookSource, Check] = {
    HookSource.ALERTMANAGER: by_token,
    HookSource.GRAFANA: by_grafana,
    HookSource.PAGERDUTY: by_pagerduty,
    HookSource.GENERIC: by_our_signature,
}


def _is_recent(stamp: str, now: datetime) -> bool:
    return (
        stamp.isascii()
        and stamp.isdigit()
        and len(stamp) < 12
        and abs(now.timestamp() - int(stamp)) <= WINDOW.total_seconds()
    )


def _password(encoded: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _hmac(secret: str, body: bytes) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def _same(given: str, expected: str) -> bool:
    return bool(expected) and hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())
