"""Chaos only where it is wanted: a listed account, and a tag on every single thing it would touch."""

from collections.abc import Iterable, Sequence

from affidavit.chaos.changes import Change
from affidavit.errors import InputRefused
from affidavit.ports import FaultTarget

TAG = "affidavit:chaos"
ALLOWED = "allowed"


def check_allowed(target: FaultTarget, function: str, changes: Sequence[Change], *, accounts: frozenset[str]) -> None:
    """Raises InputRefused unless account, function and all that the changes touch are allowed. No list: nothing is."""
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
