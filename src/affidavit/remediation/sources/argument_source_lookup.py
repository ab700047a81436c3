"""Finds the sources of a subject: of a function all that was recorded of it, of a node the node itself."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from affidavit.errors import AffidavitError, NotFound, UpstreamFailed
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.known_good.role_permissions import role_name
from affidavit.known_good.state_assembly import mapping
from affidavit.known_good.store import KnownGoodStore
from affidavit.ports.argument_sources import ArgumentSource, SourceDocument, SourceKind
from affidavit.ports.json import Item
from affidavit.ports.workload_inspector import StateInspector, TrailLookup
from affidavit.remediation.sources import source_documents
from affidavit.remediation.sources.node_as_source import NodeIdentity
from affidavit.workloads.partial_answers import Parts
from affidavit.workloads.recent_changes import EVENTS_AT_MOST, LOOKUPS_AT_MOST, trail_lookups

# As long as CloudTrail keeps events.
LOOKED_BACK = timedelta(days=90)


@dataclass(frozen=True, kw_only=True)
class RecordedSources:
    """An `ArgumentSources`. Where one name cannot be looked up, the others still serve: a step needs one source."""

    store: KnownGoodStore
    inspector: StateInspector
    nodes: NodeIdentity | None = None
    """None: nodes are not repaired."""

    def about(self, subject: Subject, *, before: datetime) -> Sequence[SourceDocument]:
        if subject.kind is SubjectKind.NODE:
            return self._of_node(subject.id)
        function = self.inspector.function(subject.id)
        events = list(self._events(subject.id, before))
        found = [
            *self._baselines(str(function["FunctionArn"])),
            *(source_documents.of_event(event) for event in events),
            *self._alias_targets(str(function["FunctionArn"]), events),
            *self._policy_versions(role_name(str(function.get("Role", "")))),
            *self._function_versions(subject.id),
        ]
        return source_documents.in_order(found, before=before)

    def reread(self, source: ArgumentSource) -> SourceDocument:
        thing, _, part = source.reference.rpartition("#")
        match source.kind:
            case SourceKind.BASELINE:
                return self._baseline(thing, part)
            case SourceKind.POLICY_VERSION:
                return self._policy_version(thing, part)
            case SourceKind.FUNCTION_VERSION:
                return self._function_version(source.reference)
            case SourceKind.TRAIL_EVENT:
                return self._event(source.reference)
            case SourceKind.ALIAS_TARGET:
                return self._alias_target(source.reference)
            case SourceKind.NODE:
                return self._node(source.reference)

    def _of_node(self, instance_id: str) -> Sequence[SourceDocument]:
        try:
            return [self._node(instance_id)]
        except NotFound:
            return []

    def _node(self, instance_id: str) -> SourceDocument:
        if self.nodes is None:
            raise NotFound("nodes are not repaired here", hint="set ALLOWED_CLUSTERS")
        return self.nodes.of(instance_id)

    def _baselines(self, function_arn: str) -> Iterator[SourceDocument]:
        for kept in self.store.history(function_arn):
            yield source_documents.of_baseline(kept, self.store.document(kept))

    def _baseline(self, function_arn: str, sha256: str) -> SourceDocument:
        kept = next((one for one in self.store.history(function_arn) if one.sha256 == sha256), None)
        if kept is None:
            raise NotFound(f"the known-good state {sha256[:12]} is gone", hint="propose again")
        return source_documents.of_baseline(kept, self.store.document(kept))

    def _alias_targets(self, function_arn: str, events: Sequence[Item]) -> Iterator[SourceDocument]:
        yield from (said for one in events if (said := source_documents.of_alias_event(one, function_arn)) is not None)

    def _alias_target(self, reference: str) -> SourceDocument:
        function_arn = reference.rpartition("#")[0].rpartition(":")[0]
        events = list(self._events(function_arn.rpartition(":")[2], self.store.clock.now()))
        for said in self._alias_targets(function_arn, events):
            if said.source.reference == reference:
                return said
        raise NotFound(f"CloudTrail no longer has who set {reference}", hint="it keeps 90 days; propose again")

    def _events(self, name: str, before: datetime) -> Iterator[Item]:
        parts, answered = Parts(), 0
        for lookup in list(dict.fromkeys(trail_lookups(self.inspector, name, parts)))[:LOOKUPS_AT_MOST]:
            events = parts.read(lookup.value, lambda lookup=lookup: self._looked_up(lookup, before))
            answered += events is not None
            yield from (event for event in events or () if _is_change(event))
        if not answered:
            raise UpstreamFailed("CloudTrail answered no lookup", hint="allow cloudtrail:LookupEvents to the reader")

    def _looked_up(self, lookup: TrailLookup, before: datetime) -> Sequence[Item]:
        start, end = (int(at.timestamp() * 1000) for at in (before - LOOKED_BACK, before))
        return self.inspector.trail(lookup, start=start, end=end, limit=EVENTS_AT_MOST).events

    def _event(self, event_id: str) -> SourceDocument:
        event = self.inspector.trail_event(event_id)
        if event is None:
            raise NotFound(f"CloudTrail has no event {event_id}", hint="it keeps 90 days; propose again")
        return source_documents.of_event(event)

    def _policy_versions(self, role: str) -> Iterator[SourceDocument]:
        for arn in self._customer_policies(role):
            for version in self.inspector.policy_versions(arn):
                if not version.is_default:
                    yield self._policy_version(arn, version.version_id)

    def _customer_policies(self, role: str) -> Sequence[str]:
        try:
            # Nobody of this account can change a policy of AWS's own.
            return [arn for arn in self.inspector.attached_policies(role) if ":iam::aws:" not in arn]
        except AffidavitError:
            return []

    def _policy_version(self, arn: str, version_id: str) -> SourceDocument:
        version = next((one for one in self.inspector.policy_versions(arn) if one.version_id == version_id), None)
        if version is None:
            raise NotFound(f"{arn} has no version {version_id}", hint="propose again")
        return source_documents.of_policy_version(arn, version, self.inspector.policy_version(arn, version_id))

    def _function_versions(self, name: str) -> Iterator[SourceDocument]:
        for one in self.inspector.function_versions(name):
            yield source_documents.of_function_version(one, has_good_variables=self._has_good_variables(one))

    def _function_version(self, qualified_arn: str) -> SourceDocument:
        versions = self.inspector.function_versions(qualified_arn.rsplit(":", 2)[-2])
        found = next((one for one in versions if one["FunctionArn"] == qualified_arn), None)
        if found is None:
            raise NotFound(f"there is no version {qualified_arn}", hint="propose again")
        return source_documents.of_function_version(found, has_good_variables=self._has_good_variables(found))

    def _has_good_variables(self, version: Item) -> bool:
        """Whether the newest known-good state had exactly these, by their keyed digests."""
        qualified = str(version["FunctionArn"])
        last = self.store.latest(qualified.rpartition(":")[0])
        section = mapping(None if last is None else self.store.document(last).get("configuration"))
        if "environment_digests" not in section:
            return False
        live = self.inspector.environment_digests(qualified, key=self.store.digest_key())
        return dict(live) == dict(mapping(section["environment_digests"]))


def _is_change(event: Item) -> bool:
    # A boolean in AWS, a text in some copies of the record.
    return str(event.get("readOnly")).lower() != "true" and not event.get("errorCode")
