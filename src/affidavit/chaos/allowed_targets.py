"""Refuses chaos outside listed accounts, and on anything that lacks the chaos tag."""

from collections.abc import Iterable, Sequence

from affidavit.changes.reversible import Change
from affidavit.errors import InputRefused
from affidavit.ports.fault_target import FaultTarget

TAG = "affidavit:chaos"
ALLOWED = "allowed"


def check_allowed(target: FaultTarget, function: str, changes: Sequence[Change], *, accounts: frozenset[str]) -> None:
    """Raises InputRefused unless the account is listed, and the function and all that changes carry the tag."""
    account = target.account()
    if account not in accounts:
        raise InputRefused(
            f"account {account} is not on chaos's list", hint="name it in CHAOS_ACCOUNTS, if it is not production"
        )
    for kind, name in _touched(function, changes):
        if target.tags(kind, name).get(TAG) != ALLOWED:
            raise InputRefused(
                f"{kind.replace('_', ' ')} {name} does not carry the tag {TAG}={ALLOWED}",
                hint="tag it, if breaking it for a while harms nobody",
            )


def _touched(function: str, changes: Sequence[Change]) -> Iterable[tuple[str, str]]:
    return dict.fromkeys([("function", function), *(change.touches for change in changes)])
