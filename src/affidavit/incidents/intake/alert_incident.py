"""Makes an incident of what an alert says: checks the names, bounds the texts, derives the id."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from affidavit.errors import InputRefused
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.incidents.incident import Incident, LifecycleAction, Signal
from affidavit.incidents.intake.incident_id import (
    WINDOW,
    derived_identity,
    earlier_identity,
    named_identity,
    parse_time,
)

# An alert is a hint where to look; the rest of a runaway message would only fill the table.
MESSAGE_CHARACTERS = 4_000
MOST_RESOURCES = 20
INSTANCE_ID = re.compile(r"i-[0-9a-f]{8,17}")
_NAMES = {
    SubjectKind.FUNCTION: re.compile(r"[A-Za-z0-9_-]{1,64}"),
    # An instance id, or the name of a Kubernetes node: a DNS name, or an address.
    SubjectKind.NODE: re.compile(r"[A-Za-z0-9]([A-Za-z0-9.:-]{0,251}[A-Za-z0-9])?"),
}
_HINTS = {
    SubjectKind.FUNCTION: "name the function as Lambda does, or by its ARN",
    SubjectKind.NODE: "name the node by its instance id, or by its node name and cluster",
}


class UnreadableAlert(InputRefused):
    """No known shape, or a known one without what it needs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NotAFault:
    """A well-formed message that reports no fault. `ok_again` is the alarm that went back to OK, if one did."""

    delivery_id: str
    why: str
    ok_again: Incident | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Envelope:
    """What the delivery itself says, for alerts that do not say it."""

    delivery_id: str
    received_at: datetime
    region: str
    account: str


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedSubjects:
    """What an alert is about. The first name is the subject; of nodes there is only one."""

    names: tuple[str, ...]
    kind: SubjectKind = SubjectKind.FUNCTION
    cluster: str = ""


def incident_from(
    envelope: Envelope,
    about: NamedSubjects,
    *,
    signal: Signal,
    signal_name: str,
    message: str,
    at: str,
    region: str,
    account: str,
    error_type: str = "unknown",
    named: str = "",
    metric: str = "",
    lifecycle: LifecycleAction | None = None,
) -> Incident:
    """Raises UnreadableAlert when it names nothing that could be looked at."""
    moment = parse_time(at) or envelope.received_at
    region, account = _storable(region or envelope.region), _storable(account or envelope.account)
    names = tuple(dict.fromkeys(name for name in about.names if name))
    signal_name = _storable(signal_name)
    if len(names) > MOST_RESOURCES:
        message = f"(the alert names {len(names)} resources; the first {MOST_RESOURCES} are kept) {message}"
        names = names[:MOST_RESOURCES]
    _check_names(names, signal_name, about.kind)
    parts = {"account": account, "region": region, "function": ",".join(names), "signal": f"{signal}:{signal_name}"}
    # An alarm says when exactly it fired; the same alarm a minute later fired again.
    exact = WINDOW if signal is not Signal.ALARM else timedelta(seconds=1)
    return Incident(
        incident_id=named_identity(_storable(named)) if named else derived_identity(**parts, at=moment, window=exact),
        may_join=None if named or signal is Signal.ALARM else earlier_identity(**parts, at=moment),
        delivery_id=_storable(envelope.delivery_id),
        account=account,
        region=region,
        subject=Subject(kind=about.kind, id=names[0]),
        resources=names,
        signal=signal,
        signal_name=_bounded(signal_name),
        message=_bounded(message),
        occurred_at=moment,
        error_type=_bounded(error_type, 200),
        metric=_bounded(metric, 200),
        cluster=_bounded(about.cluster, 100),
        lifecycle=lifecycle,
    )


def _check_names(names: Sequence[str], signal_name: str, kind: SubjectKind) -> None:
    """Raises UnreadableAlert: nobody can look at nothing, or at what cannot be such a thing."""
    if not names:
        raise UnreadableAlert(
            f"{signal_name} names no function and no node, so there is nothing to look at",
            hint="name it: in the alarm's dimensions, or as `function_name` or `instance_id` of a report",
        )
    wrong = next((name for name in names if _NAMES[kind].fullmatch(name) is None), None)
    if wrong is not None:
        raise UnreadableAlert(f"{wrong[:80]!a} cannot be the name of a {kind}", hint=_HINTS[kind])


def _storable(text: str) -> str:
    """Half a character, which JSON can spell and no store keeps, becomes a question mark."""
    return text.encode(errors="replace").decode()


def _bounded(text: str, most: int = MESSAGE_CHARACTERS) -> str:
    text = _storable(text)
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most} characters cut)"
