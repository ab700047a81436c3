"""Evidence without a chat model: when none may or can be asked, the person on call still gets the facts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from affidavit.errors import AffidavitError
from affidavit.evidence.diagnosis import Diagnosis
from affidavit.incidents.budget import truncate_to_budget
from affidavit.incidents.incident import Incident
from affidavit.incidents.ledger import Entry, Ledger
from affidavit.ports import JsonValue

TOKEN_BUDGET = 20_000
LONGEST_ANSWER = timedelta(seconds=30)
PARTS = {
    "logs": "get_recent_logs",
    "iam": "get_iam_state",
    "lambda_config": "get_lambda_config",
    "network": "get_network_state",
}


class DiagnosticTools(Protocol):
    def call(self, tool: str, arguments: Mapping[str, JsonValue], *, within: timedelta) -> JsonValue:
        """The answer; its error variant when the question failed.

        Raises AffidavitError when nobody could be asked, or nobody answered within that time.
        """
        ...


Conclude = Callable[[Incident, Sequence[Entry]], Diagnosis | None]
"""What rules alone can prove from recorded answers."""


@dataclass(frozen=True, kw_only=True)
class Degraded:
    """The two things that work without a chat model; both are built elsewhere and only when needed."""

    tools: DiagnosticTools
    conclude: Conclude


def gather_context(
    incident: Incident,
    tools: DiagnosticTools,
    ledger: Ledger,
    *,
    time_left: Callable[[], timedelta] = lambda: LONGEST_ANSWER,
    token_budget: int = TOKEN_BUDGET,
) -> Mapping[str, JsonValue]:
    """Every diagnostic tool's answer, recorded whole and given back fitted into the budget.

    What an earlier attempt recorded is not asked again; what there is no time for says so.
    """
    gathered: dict[str, JsonValue] = {}
    why_not = ""
    for part, tool in PARTS.items() if incident.function else ():
        arguments = {"lambda_name": incident.function}
        known = _recorded(tool, arguments, ledger)
        within = min(time_left(), LONGEST_ANSWER)
        why_not = why_not or ("" if within > timedelta() else "no time was left")
        if known is not None:
            gathered[part] = known.answer
        elif why_not:
            gathered[part] = {"error": f"not asked: {why_not}"}
        else:
            gathered[part], why_not = _asked(tool, arguments, tools, ledger, within)
    fitted = truncate_to_budget(gathered, token_budget)
    return {**fitted.context, "metrics": fitted.metrics}


def _recorded(tool: str, arguments: Mapping[str, JsonValue], ledger: Ledger) -> Entry | None:
    answers = [entry for entry in ledger.entries if entry.tool == tool and entry.arguments == arguments]
    return next((entry for entry in reversed(answers) if not _is_error(entry.answer)), None)


def _is_error(answer: JsonValue) -> bool:
    return isinstance(answer, Mapping) and bool(answer.get("error"))


def _asked(
    tool: str, arguments: Mapping[str, JsonValue], tools: DiagnosticTools, ledger: Ledger, within: timedelta
) -> tuple[JsonValue, str]:
    """The answer, recorded; and why no other tool is worth asking. A black hole costs its time once, not four times."""
    try:
        return ledger.record(tool, arguments, tools.call(tool, arguments, within=within)).answer, ""
    except AffidavitError as error:
        return ledger.record(tool, arguments, {"error": str(error)}).answer, "the tools cannot be reached"
