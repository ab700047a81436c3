"""Decides whether a node's incident can be investigated now, or waits for its bundle.

Waiting costs nothing: the incident stands in the table with a time. The end of indexing wakes it; the watchdog does
when that is lost. After the deadline it is investigated on what there is, and says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

from affidavit.errors import AffidavitError
from affidavit.evidence.incident_subject import SubjectKind
from affidavit.incidents.evidence.control_plane_port import NodeStates
from affidavit.incidents.evidence.node_evidence_port import (
    BundleAtHand,
    CollectionStanding,
    CollectionState,
    NodeEvidence,
)
from affidavit.incidents.incident import Incident
from affidavit.ports.json import JsonValue

TOOL = "node_evidence"
"""The name under which the choice of evidence is recorded among the answers of tools."""
# The node's collector lets each command run 75 s, so a healthy collection can be quiet for minutes.
COLLECTION_DEADLINE = timedelta(minutes=15)
BUNDLE_FRESH = timedelta(minutes=15)
# How soon the watchdog looks again when nobody woke the incident.
LOOK_AGAIN = timedelta(minutes=2)

GIVEN = "the bundle was given by whoever asked, who vouches for it; nothing else proves which node made it"


@dataclass(frozen=True, kw_only=True, slots=True)
class EvidenceReady:
    """`record` is what a diagnosis can be held to: which bundle, from where, how old, and what is missing.

    `node_state` is how the control plane sees the node; None where its API is not configured.
    """

    record: Mapping[str, JsonValue]
    node_state: Mapping[str, JsonValue] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class EvidenceAwaited:
    """`since` is when the waiting began: its deadline counts from there, however often it is looked at."""

    since: datetime
    due_at: datetime
    says: str


class EvidenceCheck(Protocol):
    def of(self, incident: Incident, *, now: datetime, since: datetime | None) -> EvidenceReady | EvidenceAwaited:
        """`since` is when the incident began to wait; None when it has not."""
        ...

    def is_saved(self, incident: Incident) -> bool:
        """Whether the node itself is needed no more: its archive is in the bucket, or nobody can get one."""
        ...


@dataclass(frozen=True, kw_only=True)
class RecordedEvidence:
    """What was chosen when the incident was investigated: for whoever plays it back."""

    record: Mapping[str, JsonValue]
    node_state: Mapping[str, JsonValue] | None = None

    def of(self, incident: Incident, *, now: datetime, since: datetime | None) -> EvidenceReady:
        return EvidenceReady(record=self.record, node_state=self.node_state)

    def is_saved(self, incident: Incident) -> bool:
        return True


@dataclass(frozen=True, kw_only=True)
class Readiness:
    evidence: NodeEvidence
    fresh_for: timedelta = BUNDLE_FRESH
    deadline: timedelta = COLLECTION_DEADLINE
    states: NodeStates | None = None

    def of(self, incident: Incident, *, now: datetime, since: datetime | None) -> EvidenceReady | EvidenceAwaited:
        found = self._found(incident, now=now, since=since)
        if isinstance(found, EvidenceAwaited) or self.states is None:
            return found
        return replace(found, node_state=self.states.state(incident))

    def _found(self, incident: Incident, *, now: datetime, since: datetime | None) -> EvidenceReady | EvidenceAwaited:
        bundles, trouble = self._bundles(incident)
        given = next((one for one in bundles if one.index_id == incident.given_index), None)
        if given is not None:
            return self._ready(incident, given, None, ())
        fresh = next((one for one in bundles if self._serves(one, incident)), None)
        if fresh is not None:
            return self._ready(incident, fresh, None, ())
        begun = since or now
        standing = self.evidence.collect(incident)
        if standing.state.is_under_way and now < begun + self.deadline:
            due_at = min(begun + self.deadline, now + LOOK_AGAIN)
            return EvidenceAwaited(since=begun, due_at=due_at, says=standing.says)
        bundles, trouble = self._bundles(incident)
        return self._ready(incident, self._best(bundles, standing, incident), standing, trouble)

    def is_saved(self, incident: Incident) -> bool:
        standing = self.evidence.collect(incident)
        return standing.is_saved or not standing.state.is_under_way

    def _bundles(self, incident: Incident) -> tuple[list[BundleAtHand], tuple[str, ...]]:
        try:
            return list(self.evidence.bundles(incident.subject.id)), ()
        except AffidavitError as error:
            return [], (f"the bundles of {incident.subject.id} could not be listed: {error}",)

    def _serves(self, bundle: BundleAtHand, incident: Incident) -> bool:
        """Whether nothing better could be collected."""
        return self._is_fresh(bundle, incident) and not bundle.unproven and not bundle.partial

    def _is_fresh(self, bundle: BundleAtHand, incident: Incident) -> bool:
        return bundle.collected_at is not None and bundle.collected_at >= incident.occurred_at - self.fresh_for

    def _best(
        self, bundles: list[BundleAtHand], standing: CollectionStanding, incident: Incident
    ) -> BundleAtHand | None:
        """What was collected for this incident; else a proven bundle; else what somebody handed in."""
        own = next((one for one in bundles if one.index_id == standing.index_id), None)
        if own is not None and not own.unproven:
            return own
        fresh = next((one for one in bundles if self._is_fresh(one, incident)), None)
        proven = next((one for one in bundles if not one.unproven), None)
        return proven or own or fresh or next(iter(bundles), None)

    def _ready(
        self,
        incident: Incident,
        bundle: BundleAtHand | None,
        standing: CollectionStanding | None,
        troubles: tuple[str, ...],
    ) -> EvidenceReady:
        is_own = bundle is not None and standing is not None and bundle.index_id == standing.index_id
        is_given = bundle is not None and bundle.index_id == incident.given_index
        is_fresh = bundle is not None and (is_own or is_given or self._is_fresh(bundle, incident))
        gaps = [*troubles, *([GIVEN] if is_given else _gaps(bundle, standing, incident, is_fresh=is_fresh))]
        record: dict[str, JsonValue] = {
            "instanceId": incident.subject.id,
            "cluster": incident.cluster,
            "node_name": incident.node_name,
            "index_id": bundle.index_id if bundle is not None else None,
            "collected_at": _iso(bundle.collected_at) if bundle is not None else None,
            "is_fresh": is_fresh,
            "origin_proven": bundle is not None and not bundle.unproven,
            "given": is_given,
            "collection": standing.state.value if standing is not None else None,
            "tried": list(standing.tried) if standing is not None else [],
            "peers": list(self._peers(incident)) if bundle is not None else [],
            "gaps": list(gaps),
        }
        return EvidenceReady(record=record)

    def _peers(self, incident: Incident) -> list[str]:
        try:
            return list(self.evidence.peers(incident))
        except AffidavitError:
            return []  # a comparison is an extra


def _gaps(
    bundle: BundleAtHand | None, standing: CollectionStanding | None, incident: Incident, *, is_fresh: bool
) -> list[str]:
    gaps: list[str] = []
    if standing is not None and standing.state is not CollectionState.DONE:
        gaps.append(f"no bundle was collected for this incident: {standing.says}")
        gaps.extend(standing.tried)
    if bundle is None:
        return [*gaps, f"there is no bundle of {incident.subject.id}, so its logs were not seen"]
    if not is_fresh:
        age = f"of {bundle.collected_at:%Y-%m-%d %H:%M} UTC" if bundle.collected_at else "of an unknown time"
        gaps.append(
            f"this rests on a bundle {age}, and the alert is of {incident.occurred_at:%Y-%m-%d %H:%M} UTC: what "
            "happened between them was not seen"
        )
    if bundle.partial:
        gaps.append(bundle.partial)
        gaps.extend(standing.tried if standing is not None and standing.state is CollectionState.DONE else ())
    if bundle.unproven:
        gaps.append(f"the origin of the bundle is not proven: {bundle.unproven}")
    return gaps


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment is not None else None


def needs_evidence(incident: Incident) -> bool:
    return incident.subject.kind is SubjectKind.NODE
