"""Looks up what CloudTrail recorded about one name. It keeps the last 90 days, and needs no trail to be set up."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.error_translation import translated
from affidavit.ports.json import Item
from affidavit.ports.workload_inspector import TrailLookup, TrailPage

# It answers two lookups a second: those beyond wait and are asked again.
ATTEMPTS = 6
# Where each partition keeps the events of IAM.
HOMES = {"cn-": "cn-north-1", "us-gov-": "us-gov-west-1"}


def recorded_events(clients: AwsClients, lookup: TrailLookup, *, start: int, end: int, limit: int) -> TrailPage:
    """Times are in milliseconds. CloudTrail is asked by whole seconds: the last one is asked for whole."""
    region = home_region(clients.region) if lookup.is_global else None
    pages = clients.client("cloudtrail", region=region, attempts=ATTEMPTS).get_paginator("lookup_events")
    asked = {"AttributeKey": str(lookup.by), "AttributeValue": lookup.value}
    events: list[Item] = []
    with translated(f"changes of {lookup.value}"):
        for page in pages.paginate(LookupAttributes=[asked], StartTime=_moment(start), EndTime=_moment(end + 999)):
            events += [_event(event) for event in page["Events"]]
            if len(events) > limit:
                break
    return TrailPage(events=tuple(events[:limit]), is_complete=len(events) <= limit)


def event_named(clients: AwsClients, event_id: str) -> Item | None:
    """One event by its id. Events of IAM lie in another region than the rest."""
    asked = [{"AttributeKey": "EventId", "AttributeValue": event_id}]
    for region in dict.fromkeys((clients.region, home_region(clients.region))):
        with translated(f"event {event_id}"):
            trail = clients.client("cloudtrail", region=region, attempts=ATTEMPTS)
            found = trail.lookup_events(LookupAttributes=asked)["Events"]
        if found:
            return _event(found[0])
    return None


def home_region(region: str) -> str:
    return next((home for prefix, home in HOMES.items() if region.startswith(prefix)), "us-east-1")


def _event(raw: Mapping[str, Any]) -> Item:
    """CloudTrail's own record, which comes as text, and the names that the lookup knows it by."""
    names = [resource["ResourceName"] for resource in raw.get("Resources", []) if resource.get("ResourceName")]
    return {**json.loads(raw["CloudTrailEvent"]), "resourceNames": names}


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
