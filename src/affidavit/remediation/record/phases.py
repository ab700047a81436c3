"""The phases of a plan, and which may follow which."""

from enum import StrEnum


class Phase(StrEnum):
    PROPOSED = "proposed"
    CRITIC_PASSED = "critic_passed"
    CRITIC_REFUSED = "critic_refused"
    AWAITING = "awaiting"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    REVOKED = "revoked"
    STALE = "stale"
    """What it was made for is no longer so. Nothing was called for it."""
    REDEEMED = "redeemed"
    INTENT_WRITTEN = "intent_written"
    """The next call may or may not have been made from here on."""
    CALLED = "called"
    READ_BACK = "read_back"
    PROVEN = "proven"
    UNDOING = "undoing"
    UNDONE = "undone"
    UNDO_FAILED = "undo_failed"
    OUTCOME_UNKNOWN = "outcome_unknown"
    HANDED_OVER = "handed_over"
    """It stopped in between and is a person's now; the record says where and why."""

    def may_become(self, other: "Phase") -> bool:
        return other in _NEXT.get(self, ())

    @property
    def is_running(self) -> bool:
        """An executor works on it, or died while it did."""
        return self in _RUNNING

    @property
    def has_ended(self) -> bool:
        return self not in _RUNNING and self not in _BEFORE


_BEFORE = {Phase.PROPOSED, Phase.CRITIC_PASSED, Phase.AWAITING, Phase.APPROVED}
_RUNNING = {
    Phase.REDEEMED,
    Phase.INTENT_WRITTEN,
    Phase.CALLED,
    Phase.READ_BACK,
    Phase.UNDOING,
    Phase.OUTCOME_UNKNOWN,
}
_NEXT = {
    Phase.PROPOSED: {Phase.CRITIC_PASSED, Phase.CRITIC_REFUSED},
    Phase.CRITIC_PASSED: {Phase.AWAITING},
    # The first of two approvals leaves it awaiting.
    Phase.AWAITING: {
        Phase.AWAITING,
        Phase.APPROVED,
        Phase.REJECTED,
        Phase.EXPIRED,
        Phase.REVOKED,
        Phase.STALE,
    },
    Phase.APPROVED: {Phase.REDEEMED, Phase.REVOKED, Phase.EXPIRED, Phase.STALE},
    Phase.REDEEMED: {Phase.INTENT_WRITTEN, Phase.STALE, Phase.HANDED_OVER},
    Phase.INTENT_WRITTEN: {Phase.CALLED, Phase.OUTCOME_UNKNOWN},
    Phase.CALLED: {Phase.READ_BACK, Phase.OUTCOME_UNKNOWN, Phase.UNDOING, Phase.HANDED_OVER},
    # An executor that takes over after a crash says so in the same phase.
    Phase.READ_BACK: {Phase.READ_BACK, Phase.INTENT_WRITTEN, Phase.PROVEN, Phase.UNDOING, Phase.HANDED_OVER},
    Phase.OUTCOME_UNKNOWN: {Phase.OUTCOME_UNKNOWN, Phase.READ_BACK, Phase.UNDOING, Phase.STALE, Phase.HANDED_OVER},
    Phase.PROVEN: {Phase.UNDOING},
    Phase.HANDED_OVER: {Phase.UNDOING},
    Phase.UNDOING: {Phase.UNDOING, Phase.UNDONE, Phase.UNDO_FAILED},
    # A person may ask again when whatever stood in the way is gone.
    Phase.UNDO_FAILED: {Phase.UNDOING},
}
