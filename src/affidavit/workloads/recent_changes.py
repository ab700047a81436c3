"""Who changed a function, or what it needs, and when: CloudTrail's events, by the names of its parts.

CloudTrail takes one name a lookup and two lookups a second, so only so many names are asked for. It delivers up to a
quarter of an hour late: the window that an answer vouches for ends there.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import cast

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from affidavit.errors import AffidavitError, NotFound, UpstreamFailed
from affidavit.ports.workload_inspector import LookupKey, TrailLookup, TrailPage, WorkloadInspector
from affidavit.workloads.network import network_state
from affidavit.workloads.partial_answers import Parts
from affidavit.workloads.policy_resources import bucket_arns
from affidavit.workloads.wire import ChangesResponse, RecordedChange, VpcMembership, Window, iso

DELIVERED_AFTER = timedelta(minutes=15)
LOOKUPS_AT_MOST = 24
EVENTS_AT_MOST = 150
CHANGES_AT_MOST = 60
LONGEST_TEXT = 2000
BUCKETS_AT_MOST = 3
# By the name of a key, every use of it would be found, and there are thousands.
KEY_CALLS = ("DisableKey", "ScheduleKeyDeletion", "PutKeyPolicy")
HIDDEN = "(set)"


class _Raw(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Function(_Raw):
    FunctionArn: str | None = None
    Role: str = ""
    KMSKeyArn: str | None = None
    VpcConfig: VpcMembership | None = None


class _Identity(_Raw):
    type: str = ""
    arn: str | None = None
    user_name: str | None = Field(default=None, alias="userName")
    invoked_by: str | None = Field(default=None, alias="invokedBy")


class _Event(_Raw):
    """The fields of CloudTrail's record that are shown, and those by which calls are left out."""

    event_id: str = Field(alias="eventID")
    time: str = Field(alias="eventTime")
    name: str = Field(alias="eventName")
    source: str = Field(default="", alias="eventSource")
    who: _Identity = Field(default=_Identity(), alias="userIdentity")
    source_ip: str | None = Field(default=None, alias="sourceIPAddress")
    request: dict[str, JsonValue] | None = Field(default=None, alias="requestParameters")
    is_read_only: bool = Field(default=False, alias="readOnly")
    error_code: str | None = Field(default=None, alias="errorCode")
    resources: list[str] = Field(default_factory=list[str], alias="resourceNames")


def recent_changes(inspector: WorkloadInspector, name: str, *, now: datetime, hours: int) -> ChangesResponse:
    """Raises NotFound when there is no such function, and UpstreamFailed when no lookup was answered."""
    parts = Parts()
    lookups = list(dict.fromkeys(trail_lookups(inspector, name, parts)))
    for lookup in lookups[LOOKUPS_AT_MOST:]:
        parts.missing(f"changes of {lookup.value}", f"only {LOOKUPS_AT_MOST} names are looked up")
    start, end = now - timedelta(hours=hours), now
    found = _found(inspector, lookups[:LOOKUPS_AT_MOST], parts, start=start, end=end)
    listed = sorted(found.values(), key=lambda change: change.time, reverse=True)
    if len(listed) > CHANGES_AT_MOST:
        parts.missing(f"{len(listed) - CHANGES_AT_MOST} older changes", f"only the newest {CHANGES_AT_MOST} are listed")
    return ChangesResponse(
        lambda_name=name,
        changes=listed[:CHANGES_AT_MOST],
        window=Window(start=_iso(start), end=_iso(end - DELIVERED_AFTER)),
        is_complete=not parts.not_read,
        not_read=parts.not_read,
    )


def trail_lookups(inspector: WorkloadInspector, name: str, parts: Parts) -> Iterator[TrailLookup]:
    """The function first, then what it needs, the likely ones before the rest."""
    function = _Function.model_validate(inspector.function(name))
    role = function.Role.rsplit("/", 1)[-1]
    yield _of(name)
    if function.FunctionArn:
        yield _of(function.FunctionArn)
    if role:
        yield _of(role, is_global=True)
        yield from _of_policies(inspector, role, parts)
    yield from _of_network(inspector, name, function.VpcConfig, parts)
    if function.KMSKeyArn:
        yield from (TrailLookup(by=LookupKey.CALL, value=call) for call in KEY_CALLS)
    sources = parts.read("event sources", lambda: inspector.event_sources(name)) or ()
    yield from (_of(str(source["UUID"])) for source in sources if source.get("UUID"))


def _of_policies(inspector: WorkloadInspector, role: str, parts: Parts) -> Iterator[TrailLookup]:
    try:
        attached, inline = inspector.attached_policies(role), inspector.inline_policies(role)
    except NotFound:
        return  # that the role is gone stands among its changes
    except AffidavitError as error:
        parts.missing(f"names of the policies of {role}", str(error))
        return
    # Nobody of this account can change a policy of AWS's own.
    yield from (_of(arn, is_global=True) for arn in attached if ":iam::aws:" not in arn)
    buckets = sorted({arn.rpartition(":")[2] for document in inline.values() for arn in bucket_arns(document)})
    yield from (_of(bucket) for bucket in buckets[:BUCKETS_AT_MOST])


def _of_network(
    inspector: WorkloadInspector, name: str, vpc: VpcMembership | None, parts: Parts
) -> Iterator[TrailLookup]:
    if vpc is None or not vpc.SubnetIds:
        return
    yield from (_of(group) for group in vpc.SecurityGroupIds)
    state = parts.read("names of the network", lambda: network_state(inspector, name))
    for subnet in state.subnets if state else ():
        yield from (_of(part) for part in (subnet.nacl_id, subnet.route_table_id) if part)


def _of(name: str, *, is_global: bool = False) -> TrailLookup:
    return TrailLookup(by=LookupKey.RESOURCE, value=name, is_global=is_global)


def _found(
    inspector: WorkloadInspector, lookups: Sequence[TrailLookup], parts: Parts, *, start: datetime, end: datetime
) -> dict[str, RecordedChange]:
    found: dict[str, RecordedChange] = {}
    answered = 0
    for lookup in lookups:
        page = parts.read(
            f"changes of {lookup.value}",
            lambda lookup=lookup: inspector.trail(lookup, start=_ms(start), end=_ms(end), limit=EVENTS_AT_MOST),
        )
        answered += page is not None
        for change in _changes(page, lookup, parts) if page else ():
            found.setdefault(change.event_id, change)
    if lookups and not answered:
        raise UpstreamFailed(
            f"CloudTrail answered no lookup: {parts.not_read[-1].why}",
            hint="allow cloudtrail:LookupEvents to the reader",
        )
    return found


def _changes(page: TrailPage, lookup: TrailLookup, parts: Parts) -> Iterator[RecordedChange]:
    if not page.is_complete:
        parts.missing(f"older changes of {lookup.value}", f"it has more than {EVENTS_AT_MOST} events")
    for raw in page.events:
        event = _Event.model_validate(raw)
        if not event.is_read_only and event.error_code is None:
            yield _change(event, lookup)


def _change(event: _Event, lookup: TrailLookup) -> RecordedChange:
    who = event.who
    by_name = lookup.by is LookupKey.RESOURCE
    return RecordedChange(
        event_id=event.event_id,
        time=event.time,
        event_name=event.name,
        event_source=event.source,
        principal=who.arn or who.user_name or who.invoked_by or who.type or "unknown",
        source_ip=event.source_ip,
        resource=lookup.value if by_name else ", ".join(event.resources) or lookup.value,
        request={key: _shown(key, value) for key, value in (event.request or {}).items()},
    )


def _shown(key: str, value: JsonValue) -> JsonValue:
    """Policies decoded, so that a part of one can be pointed to; long texts cut; values of variables left out."""
    if key.lower() == "variables":
        return dict.fromkeys(value, HIDDEN) if isinstance(value, dict) else HIDDEN
    if isinstance(value, dict):
        return {inner: _shown(inner, each) for inner, each in value.items()}
    if isinstance(value, list):
        return [_shown(key, each) for each in value]
    if isinstance(value, str):
        return _document(value) or (value if len(value) <= LONGEST_TEXT else f"{value[:LONGEST_TEXT]}…")
    return value


def _document(text: str) -> JsonValue:
    if not text.startswith("{") or '"Statement"' not in text:
        return None
    try:
        decoded = json.loads(text)
    except ValueError:
        return None
    return cast("JsonValue", decoded) if isinstance(decoded, Mapping) else None


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def _iso(moment: datetime) -> str:
    return iso(_ms(moment))
