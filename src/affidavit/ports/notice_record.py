"""What people are told when an incident has ended, as a record that every channel formats in its own way."""

from dataclasses import dataclass
from datetime import datetime

from affidavit.evidence.diagnosis import IncidentSeverity


@dataclass(frozen=True, kw_only=True, slots=True)
class AlertOrigin:
    """Where an alert came from, when that is a place that can be answered: `key` is the sender's own name of it."""

    source: str
    key: str


@dataclass(frozen=True, kw_only=True, slots=True)
class NoticeQuote:
    """One piece of evidence: what it shows, the quoted `text`, `cut` characters more, and where it stands."""

    shows: str
    text: str
    cut: int
    place: str


@dataclass(frozen=True, kw_only=True, slots=True)
class NoticeStep:
    """A step of the plan, with the evidence it rests on, its risk and whether it needs approval."""

    action: str
    details: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Notice:
    """Every text is redacted and stands on one printable line. What logs and chat models wrote is still untrusted: a
    channel escapes it, so that it neither mentions, links nor formats."""

    key: str
    """The same for the same end of the same incident."""
    incident_id: str
    about: str
    """The function or node, or the incident's id where the alert names nothing."""
    state: str
    severity: IncidentSeverity | None
    """None: there is no diagnosis, so nobody knows."""
    title: str
    cause: str
    is_diagnosed: bool
    attempts: int
    resources: tuple[str, ...]
    since: datetime
    account: str
    region: str
    resolved_at: datetime | None = None
    """When we heard that the alert is over."""
    proven_by_rules: str = ""
    """Without a diagnosis: what rules alone can prove. Summary, evidence and plan are then theirs."""
    summary: str = ""
    open_obligations: tuple[str, ...] = ()
    evidence: tuple[NoticeQuote, ...] = ()
    plan: tuple[NoticeStep, ...] = ()
    gaps: tuple[str, ...] = ()
    link: str = ""
    """The page in the console, of the incident or of its plan; empty where there is none."""
    origin: AlertOrigin | None = None
    plan_id: str = ""
    """The plan that waits for approval, where this is about one."""
    is_test: bool = False
