"""What an incident's recorded answers show, for `evaluate`: runs, metrics, policies, network, changes."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, cast

from affidavit.evidence.diagnosis import FaultType
from affidavit.verification.ledger_entry import Entry
from affidavit.verification.obligations.recorded_node_answers import NodeFacts
from affidavit.verification.obligations.run_facts import RunEnd, RunFacts, read_run_facts

LOGS, IAM, CONFIG, NETWORK, CHANGES = (
    "get_recent_logs",
    "get_iam_state",
    "get_lambda_config",
    "get_network_state",
    "get_recent_changes",
)


@dataclass(frozen=True, kw_only=True)
class ChangeCall:
    at: datetime | None
    call: str
    user: str


@dataclass(frozen=True)
class Situation:
    entries: tuple[Entry, ...]
    alert: str = ""

    def answer(self, tool: str) -> Mapping[str, Any]:
        """The newest answer of the tool that is no error; empty when there is none."""
        for entry in reversed(self.entries):
            if entry.tool == tool and isinstance(entry.answer, Mapping) and not entry.answer.get("error"):
                return cast("Mapping[str, Any]", entry.answer)
        return {}

    @property
    def is_of_function(self) -> bool:
        return any(entry.tool in (LOGS, IAM, CONFIG, NETWORK) for entry in self.entries)

    @cached_property
    def node(self) -> NodeFacts:
        return NodeFacts(self.entries)

    @cached_property
    def runs(self) -> tuple[RunFacts, ...]:
        return read_run_facts(cast("Sequence[Mapping[str, Any]]", self.answer(LOGS).get("events") or ()))

    @property
    def failing(self) -> tuple[RunFacts, ...]:
        return tuple(run for run in self.runs if run.end is RunEnd.FAILED)

    @property
    def shown(self) -> frozenset[FaultType]:
        """Faults that complaints show; of runs that failed, or of which nobody knows how they ended."""
        return frozenset(fault for run in self.runs if run.end is not RunEnd.WELL for fault in run.faults)

    @property
    def newest_run(self) -> RunFacts | None:
        return self.runs[-1] if self.runs else None

    @cached_property
    def good_since(self) -> tuple[RunFacts, ...]:
        """Runs after the last failing one that ended well."""
        last = max((place for place, run in enumerate(self.runs) if run.end is not RunEnd.WELL), default=-1)
        return self.runs[last + 1 :]

    def metric(self, name: str) -> float | None:
        metrics = cast("Mapping[str, Any]", self.answer(CONFIG).get("Metrics") or {})
        found = {str(key).casefold(): value for key, value in metrics.items()}.get(name)
        return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None

    @cached_property
    def changes(self) -> tuple[ChangeCall, ...]:
        listed = cast("Sequence[Mapping[str, Any]]", self.answer(CHANGES).get("changes") or ())
        return tuple(_change(one) for one in listed)

    @property
    def decisions(self) -> Sequence[Mapping[str, Any]]:
        return cast("Sequence[Mapping[str, Any]]", self.answer(IAM).get("simulated_decisions") or ())

    def event_run(self, field: str) -> RunFacts | None:
        """The run that the event at this pointer belongs to."""
        found = re.match(r"/?events[/.\[](\d+)", field)
        place = int(found[1]) if found else -1
        return next((run for run in self.runs if place in run.places), None)


def _change(one: Mapping[str, Any]) -> ChangeCall:
    given = {str(key).casefold(): value for key, value in one.items()}
    moment = next((given[key] for key in ("event_time", "eventtime", "time", "at") if given.get(key)), "")
    call = next((given[key] for key in ("event_name", "eventname", "action", "name") if given.get(key)), "")
    user = next((given[key] for key in ("user", "username", "by", "principal") if given.get(key)), "")
    return ChangeCall(at=_moment(moment), call=str(call), user=str(user))


def _moment(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except ValueError:
        return None


def texts_of(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner in cast("Mapping[Any, Any]", value).values():
            yield from texts_of(inner)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, Sequence):
        for inner in cast("Sequence[Any]", value):
            yield from texts_of(inner)
