"""The ports and settings that the supervisor and every attempt share."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from affidavit.incidents.attempt.diagnostician_port import Diagnostician
from affidavit.incidents.attempt.incidents_per_hour import Breaker
from affidavit.incidents.evidence.readiness import EvidenceCheck
from affidavit.incidents.evidence.termination_holds import HeldNodes
from affidavit.incidents.incident import Incident
from affidavit.incidents.intake.node_gate import NodeGate
from affidavit.incidents.intake.other_account_alerts import Home
from affidavit.incidents.notices.channel import Channel
from affidavit.incidents.notices.incident_notice import PLAIN, NoticeStyle
from affidavit.incidents.notices.notice_dispatch import People
from affidavit.incidents.store.blobs import Records
from affidavit.incidents.store.incident_leases import IncidentStates
from affidavit.incidents.store.stored_diagnoses import IncidentContexts
from affidavit.incidents.telemetry import Telemetry
from affidavit.ports.clock import Clock

if TYPE_CHECKING:
    from affidavit.evidence.citation_check import ByteSource
    from affidavit.incidents.attempt.evidence_without_chat_model import Degraded


@dataclass(frozen=True, kw_only=True)
class Equipment:
    """`diagnostician` and `degraded` are called only when an incident really runs."""

    states: IncidentStates
    contexts: IncidentContexts
    records: Records
    breaker: Breaker
    telemetry: Telemetry
    clock: Clock
    diagnostician: Callable[[], Diagnostician]
    max_tokens: int
    degraded: "Callable[[Incident], Degraded] | None" = None
    source: "ByteSource | None" = None
    channels: tuple[Channel, ...] = ()
    """Whoever is told how incidents end; nobody when there are none."""
    notice_style: NoticeStyle = PLAIN
    home: Home = field(default_factory=Home)
    gate: NodeGate = field(default_factory=NodeGate)
    held: HeldNodes | None = None
    readiness: EvidenceCheck | None = None
    """Without it a node's incident is investigated on whatever its tools know."""

    @property
    def people(self) -> People:
        return People(
            states=self.states,
            contexts=self.contexts,
            telemetry=self.telemetry,
            clock=self.clock,
            channels=self.channels,
            style=self.notice_style,
        )
