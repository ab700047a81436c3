"""Names the recorded change that came right before a fault: who, what, when.

Right before means: no run succeeded between the change and the first run that failed for this reason. Anything earlier
did no harm, and anything later came too late.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, cast

from affidavit.agent.rules.fault import Fault, proofs
from affidavit.agent.rules.ledger_facts import CHANGES, Facts
from affidavit.agent.rules.permissions.policies import Document, Says, judge
from affidavit.agent.rules.run_history import PastRun
from affidavit.evidence.diagnosis import FaultType
from affidavit.yaml_loading import load_yaml

_FILE = Path(__file__).parent / "breaking_changes.yaml"
_VERSION = re.compile(r"\d{8}(v\d+)?$")
_NEVER = datetime.max.replace(tzinfo=UTC)
_ACTION = re.compile(r"\b[a-z0-9-]+:[A-Z][A-Za-z]+\b")


def with_change(fault: Fault, facts: Facts) -> Fault:
    """The fault with what changed right before it, if CloudTrail recorded such a call."""
    found = next((place for place, one in enumerate(facts.changes) if _is_breaking(one, fault, facts)), None)
    if found is None:
        return fault
    change = facts.changes[found]
    told = f"{who(str(change['principal']))} called {call(change)} on {change['resource']} at {change['time']}"
    pointers = proofs(
        facts.point(CHANGES, "changes", found, "event_name", shows="The change right before it."),
        facts.point(CHANGES, "changes", found, "principal", shows="Who made it."),
        facts.point(CHANGES, "changes", found, "time", shows="When."),
    )
    return replace(fault, cause=f"{fault.cause}, after {told}", proof=(*fault.proof, *pointers))


def call(change: Mapping[str, Any]) -> str:
    """CloudTrail adds the version of the API to calls of Lambda."""
    return _VERSION.sub("", str(change["event_name"]))


def who(principal: str) -> str:
    """`role/session`, the user, or root, out of an ARN; anything else as it is."""
    if ":assumed-role/" in principal:
        return "/".join(principal.rsplit("/", 2)[-2:])
    if principal.startswith("arn:") and principal.endswith(":root"):
        return "root"
    return principal.rsplit("/", 1)[-1] if principal.startswith("arn:") else principal


def _is_breaking(change: Mapping[str, Any], fault: Fault, facts: Facts) -> bool:
    moment = _moment(change.get("time"))
    if moment is None or call(change) not in _calls().get(fault.kind, frozenset()) or _grants(change, fault):
        return False
    first = _first(fault, facts)
    if first is None:
        return not any(run.is_good and _time(run, facts) > moment for run in facts.history.runs)
    before = [run for run in facts.history.runs if _time(run, facts) < _time(first, facts)]
    is_before = moment <= _time(first, facts)
    return is_before and not any(run.is_good and _time(run, facts) > moment for run in before)


def _first(fault: Fault, facts: Facts) -> PastRun | None:
    """The first run that failed for this reason; None when no run that was read did."""
    own = [run for run in facts.history.runs if any(one.label in fault.explains for one in run.reasons)]
    return next(iter(own), None)


def _grants(change: Mapping[str, Any], fault: Fault) -> bool:
    """A policy was put that allows what is denied: that is no loss."""
    request = cast("Mapping[str, Any]", change.get("request") or {})
    documents = [cast("Document", value) for value in request.values() if isinstance(value, Mapping)]
    actions = set(_ACTION.findall(fault.cause))
    return bool(documents) and any(judge(documents, action, None) is Says.ALLOWS for action in actions)


def _time(run: PastRun, facts: Facts) -> datetime:
    return _moment(facts.logs["events"][run.start].get("timestamp")) or _NEVER


def _moment(text: object) -> datetime | None:
    try:
        read = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        return None
    return read if read.tzinfo else None


@cache
def _calls() -> Mapping[FaultType, frozenset[str]]:
    listed = cast("Mapping[str, list[list[str]]]", load_yaml(_FILE.read_text("utf-8")))
    return {FaultType(kind): frozenset(one for line in lines for one in line) for kind, lines in listed.items()}
