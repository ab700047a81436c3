"""What the ledger holds, read for the rules: the newest good answer of each tool, and pointers into it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from pydantic import ValidationError

from affidavit.agent.rules.alert import RaisedBy
from affidavit.agent.rules.failure_reasons import Reason
from affidavit.agent.rules.run_history import History, history
from affidavit.evidence.diagnosis import EvidencePointer
from affidavit.verification.ledger_entry import Entry
from affidavit.verification.pointer_lookup import Located, locate

LOGS, IAM, CONFIG, NETWORK = "get_recent_logs", "get_iam_state", "get_lambda_config", "get_network_state"
CHANGES = "get_recent_changes"


@dataclass(frozen=True, kw_only=True)
class Facts:
    answers: Mapping[str, Mapping[str, Any]]
    """By tool; only answers in their ok variant."""
    errors: Mapping[str, str] = field(default_factory=dict[str, str])
    raised: RaisedBy | None = None

    @property
    def function(self) -> str:
        return str(self.config.get("FunctionName") or self.network.get("lambda_name") or "")

    @property
    def logs(self) -> Mapping[str, Any]:
        return self.answers.get(LOGS, {})

    @property
    def iam(self) -> Mapping[str, Any]:
        return self.answers.get(IAM, {})

    @property
    def config(self) -> Mapping[str, Any]:
        return self.answers.get(CONFIG, {})

    @property
    def network(self) -> Mapping[str, Any]:
        return self.answers.get(NETWORK, {})

    @property
    def changes(self) -> Sequence[Mapping[str, Any]]:
        """Newest first."""
        return cast("Sequence[Mapping[str, Any]]", self.answers.get(CHANGES, {}).get("changes") or ())

    @property
    def metrics(self) -> Mapping[str, Any]:
        return self.config.get("Metrics") or {}

    @cached_property
    def history(self) -> History:
        events = cast("Sequence[Mapping[str, Any]]", self.logs.get("events") or ())
        counted = self.metrics.get("errors")
        return history(events, raised=self.raised, errors=counted if isinstance(counted, int | float) else None)

    def point(self, tool: str, *parts: str | int, shows: str) -> EvidencePointer | None:
        """A pointer to what stands there; None when nothing does, or nothing that can be quoted."""
        place = "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in parts)
        located = locate(place, cast("Any", self.answers.get(tool)))
        if not isinstance(located, Located):
            return None
        try:
            return EvidencePointer(tool=tool, field=place, value=cast("Any", located.value), interpretation=shows)
        except ValidationError:
            return None

    def quote(self, reason: Reason, *, shows: str) -> EvidencePointer:
        return EvidencePointer(
            tool=LOGS, field=f"/events/{reason.event}/message", value=reason.quote, interpretation=shows
        )


def facts(entries: Sequence[Entry], raised: RaisedBy | None = None) -> Facts:
    answers: dict[str, Mapping[str, Any]] = {}
    errors: dict[str, str] = {}
    for entry in entries:
        if not isinstance(entry.answer, Mapping):
            continue
        if entry.answer.get("error"):
            errors[entry.tool] = str(entry.answer["error"])
        else:
            answers[entry.tool] = cast("Mapping[str, Any]", entry.answer)
    failed = {tool: text for tool, text in errors.items() if tool not in answers}
    return Facts(answers=answers, errors=failed, raised=raised)
