"""Sources of arguments out of CloudTrail: the calls that wrote a function's settings, newest first."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from affidavit.errors import NotFound
from affidavit.evidence.subject import Subject, SubjectKind
from affidavit.ports.argument_sources import ArgumentSource, SourceDocument, SourceKind
from affidavit.ports.aws_calls import StateReader
from affidavit.ports.clock import Clock
from affidavit.ports.json import JsonValue
from affidavit.remediation.plan.seal import sha256_of

# CloudTrail keeps management events for so long.
KEPT = timedelta(days=90)
# Records of code uploads carry no setting and may be megabytes.
MOST_BYTES = 100_000


@dataclass(frozen=True, kw_only=True)
class TrailSources:
    """`reader` asks the region of the function; `home` the region where the partition keeps IAM's events."""

    reader: StateReader
    home: StateReader
    clock: Clock

    def about(self, subject: Subject, *, before: datetime) -> Sequence[SourceDocument]:
        if subject.kind is not SubjectKind.FUNCTION:
            return []
        live = self.reader.read("lambda", "get_function_configuration", FunctionName=subject.id)
        role = str(live["Role"]).rpartition("/")[2]
        events = [*self._named(self.reader, subject.id), *self._named(self.home, role)]
        return sorted((_document(event) for event in events if _is_write(event)), key=lambda one: one.at, reverse=True)

    def reread(self, source: ArgumentSource) -> SourceDocument:
        for reader in (self.reader, self.home):
            for event in self._asked(reader, "EventId", source.reference):
                return _document(event)
        raise NotFound(f"CloudTrail has no event {source.reference}", hint="it keeps them for 90 days")

    def _named(self, reader: StateReader, name: str) -> Iterator[dict[str, Any]]:
        yield from self._asked(reader, "ResourceName", name)

    def _asked(self, reader: StateReader, key: str, value: str) -> Iterator[dict[str, Any]]:
        found = reader.read_all(
            "cloudtrail",
            "lookup_events",
            "Events",
            LookupAttributes=[{"AttributeKey": key, "AttributeValue": value}],
            StartTime=(self.clock.now() - KEPT).isoformat(),
        )
        for raw in found:
            text = str(cast("dict[str, Any]", raw)["CloudTrailEvent"])
            if len(text) <= MOST_BYTES:
                yield json.loads(text)


def _is_write(event: dict[str, Any]) -> bool:
    return str(event.get("readOnly", False)).lower() != "true" and not event.get("errorCode")


def _document(event: dict[str, JsonValue]) -> SourceDocument:
    source = ArgumentSource(kind=SourceKind.TRAIL_EVENT, reference=str(event["eventID"]), sha256=sha256_of(event))
    return SourceDocument(source=source, at=datetime.fromisoformat(str(event["eventTime"])), document=event)
