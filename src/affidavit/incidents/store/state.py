"""The record of one incident: where it stands, whose it is, and what has been done."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from affidavit.errors import InvariantBroken, NotFound
from affidavit.evidence.diagnosis import NO_TOKENS, TokenUsage
from affidavit.incidents.incident import Incident, IncidentId, incident_from_json
from affidavit.ports.json import Item, JsonValue
from affidavit.ports.table import Key

MOST_ATTEMPTS = 3


class Status(StrEnum):
    """FAILED: it could not be diagnosed. ERROR: it could not run."""

    RECEIVED = "RECEIVED"
    AWAITING_EVIDENCE = "AWAITING_EVIDENCE"
    """A node's bundle is on its way. Nobody works on it; it is due again at `due_at`."""
    INVESTIGATING = "INVESTIGATING"
    DIAGNOSED = "DIAGNOSED"
    FAILED = "FAILED"
    ERROR = "ERROR"
    AWAITING_APPROVAL = "AWAITING_APPROVAL"
    REMEDIATING = "REMEDIATING"
    REMEDIATED = "REMEDIATED"

    @property
    def is_open(self) -> bool:
        return self in (Status.RECEIVED, Status.AWAITING_EVIDENCE, Status.INVESTIGATING)

    @property
    def has_diagnosis(self) -> bool:
        return not self.is_open and self not in (Status.FAILED, Status.ERROR)

    def may_become(self, other: "Status") -> bool:
        return other in _NEXT.get(self, ())


# Everything a worker may do to an incident it holds. Taking one again, back to RECEIVED, is no step but a new lease.
_NEXT = {
    Status.RECEIVED: (Status.AWAITING_EVIDENCE, Status.INVESTIGATING, Status.FAILED, Status.ERROR),
    Status.INVESTIGATING: (Status.DIAGNOSED, Status.FAILED, Status.ERROR),
    # These are taken by `remediation`, each in one write with the plan's own. A plan that ended otherwise leads back.
    Status.DIAGNOSED: (Status.AWAITING_APPROVAL,),
    Status.AWAITING_APPROVAL: (Status.REMEDIATING, Status.DIAGNOSED),
    Status.REMEDIATING: (Status.REMEDIATED, Status.DIAGNOSED),
    Status.REMEDIATED: (Status.REMEDIATING,),
}


class Due(StrEnum):
    """Why an incident stands in the sparse index: its lease runs, another attempt waits, its evidence is on its way, or
    people are not told yet."""

    LEASE = "lease"
    RETRY = "retry"
    EVIDENCE = "evidence"
    NOTICE = "notice"


@dataclass(frozen=True, kw_only=True, slots=True)
class IncidentState:
    """The item of one incident, with numbers as stored. `checkpoint` is the object key of the saved progress."""

    incident: Incident
    status: Status
    created_at: datetime
    updated_at: datetime
    lease_expires_at: float
    epoch: int
    attempts: int
    error_reason: str | None = None
    error_category: str | None = None
    provider: str | None = None
    """Whose chat model the error category is about."""
    next_attempt_at: float | None = None
    is_deferred: bool = False
    spent: TokenUsage = NO_TOKENS
    checkpoint: str | None = None
    ledger: tuple[str, ...] = ()
    due: Due | None = None
    due_at: float | None = None
    notices: int = 0
    """How often somebody set out to tell people."""
    awaiting_since: float | None = None
    """When it began to wait for its evidence; stays when the waiting is over."""
    resolved_at: float | None = None
    """When we heard that every alert of it is over. It closes nothing."""
    plan_id: str | None = None
    """The latest plan to repair it, and what became of that."""
    plan_ended: str | None = None

    @property
    def incident_id(self) -> IncidentId:
        return self.incident.incident_id

    @property
    def alerts_over_at(self) -> datetime | None:
        """`resolved_at` as a time."""
        return None if self.resolved_at is None else datetime.fromtimestamp(self.resolved_at, UTC)

    def is_leased(self, now: datetime) -> bool:
        return self.status.is_open and self.lease_expires_at > now.timestamp()

    def is_due(self, now: datetime) -> bool:
        """Whether another attempt may start: the last worker is gone, or the time of the next attempt has come."""
        if self.status is Status.AWAITING_EVIDENCE:
            return self.due_at is None or self.due_at <= now.timestamp()
        if self.status.is_open:
            return not self.is_leased(now)
        return self.next_attempt_at is not None and self.next_attempt_at <= now.timestamp()

    @property
    def has_attempts_left(self) -> bool:
        """Waiting for evidence is no attempt."""
        return self.attempts < MOST_ATTEMPTS or self.status is Status.AWAITING_EVIDENCE


@dataclass(frozen=True, kw_only=True, slots=True)
class Lease:
    """The right to write about an incident, until somebody else takes it. By `deadline` it must be used."""

    incident: Incident
    epoch: int
    attempts: int
    deadline: datetime
    spent: TokenUsage
    checkpoint: str | None
    ledger: tuple[str, ...]
    awaiting_since: datetime | None = None

    @property
    def incident_id(self) -> IncidentId:
        return self.incident.incident_id


def state_key(incident_id: IncidentId) -> Key:
    return Key(pk=f"incident#{incident_id}", sk="state")


def state_of(item: Item) -> IncidentState:
    ledger, due = item.get("ledger"), _text(item.get("due"))
    return IncidentState(
        incident=incident_from_json(str(item["incident"])),
        status=Status(str(item["status"])),
        created_at=datetime.fromisoformat(str(item["created_at"])),
        updated_at=datetime.fromisoformat(str(item["updated_at"])),
        lease_expires_at=_number(item["lease_expires_at"]),
        epoch=int(_number(item["epoch"])),
        attempts=int(_number(item["attempts"])),
        error_reason=_text(item.get("error_reason")),
        error_category=_text(item.get("error_category")),
        provider=_text(item.get("provider")),
        next_attempt_at=_number_if_any(item.get("next_attempt_at")),
        is_deferred=item.get("is_deferred") is True,
        spent=TokenUsage.model_validate(item.get("token_usage") or NO_TOKENS),
        checkpoint=_text(item.get("checkpoint")),
        ledger=tuple(str(key) for key in ledger) if isinstance(ledger, Sequence) else (),
        due=None if due is None else Due(due),
        due_at=_number_if_any(item.get("due_at")),
        notices=int(_number(item.get("notices") or 0)),
        awaiting_since=_number_if_any(item.get("awaiting_since")),
        resolved_at=_number_if_any(item.get("resolved_at")),
        plan_id=_text(item.get("plan_id")),
        plan_ended=_text(item.get("remediation_reason")),
    )


def lease_of(state: IncidentState, deadline: datetime) -> Lease:
    return Lease(
        incident=state.incident,
        epoch=state.epoch,
        attempts=state.attempts,
        deadline=deadline,
        spent=state.spent,
        checkpoint=state.checkpoint,
        ledger=state.ledger,
        awaiting_since=_moment_of(state.awaiting_since),
    )


def not_known(incident_id: IncidentId) -> NotFound:
    return NotFound(f"there is no incident {incident_id}", hint="`affidavit incident list` shows the latest ones")


def _number(value: JsonValue) -> float:
    if not isinstance(value, int | float):
        raise InvariantBroken(f"a number of an incident is stored as {type(value).__name__}")
    return value


def _number_if_any(value: JsonValue) -> float | None:
    return None if value is None else _number(value)


def _moment_of(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _text(value: JsonValue) -> str | None:
    return None if value is None else str(value)
