"""Gathers evidence when no chat model may or can be asked, so that the person on call still gets the facts.

The rules that conclude from it are in `agent/rules`; they are passed in.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from affidavit.errors import AffidavitError
from affidavit.evidence.diagnosis import Diagnosis
from affidavit.incidents.attempt.answer_ledger import Entry, Ledger
from affidavit.incidents.attempt.answers_cut_to_budget import Shrink, truncate_to_budget
from affidavit.ports.json import JsonValue

TOKEN_BUDGET = 20_000
LONGEST_ANSWER = timedelta(seconds=30)


class DiagnosticTools(Protocol):
    def call(self, tool: str, arguments: Mapping[str, JsonValue], *, within: timedelta) -> JsonValue:
        """The answer; its error variant when the question failed.

        Raises AffidavitError when nobody could be asked, or nobody answered within that time.
        """
        ...


Conclude = Callable[[Sequence[Entry]], Diagnosis | None]
"""What rules alone can prove from recorded answers."""


@dataclass(frozen=True, kw_only=True)
class PartQuestion:
    """What is asked for one part of the gathered evidence."""

    tool: str
    arguments: Mapping[str, JsonValue]


@dataclass(frozen=True, kw_only=True)
class Degraded:
    """What works without a chat model for one incident; it is built elsewhere, and only when needed."""

    tools: DiagnosticTools
    conclude: Conclude
    questions: Mapping[str, PartQuestion]
    """By the name of the part that the answer becomes."""
    pinned: "Callable[[PartQuestion, Sequence[Entry]], PartQuestion]" = lambda question, _: question
    """The question with what the recorded answers say it must be about, such as one bundle of a node."""
    shrinks: Sequence[Shrink] = ()
    signature: Callable[[Diagnosis], frozenset[str]] = lambda diagnosis: frozenset(diagnosis.fault_types)
    """What tells two faults of a subject apart, however their logs and counts differ."""


def gather_context(
    degraded: Degraded,
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
    questions = {part: degraded.pinned(one, ledger.entries) for part, one in degraded.questions.items()}
    for part, question in questions.items():
        known = _recorded(question, ledger)
        within = min(time_left(), LONGEST_ANSWER)
        why_not = why_not or ("" if within > timedelta() else "no time was left")
        if known is not None:
            gathered[part] = known.answer
        elif why_not:
            gathered[part] = {"error": f"not asked: {why_not}"}
        else:
            gathered[part], why_not = _asked(question, degraded.tools, ledger, within)
    fitted = truncate_to_budget(gathered, token_budget, degraded.shrinks)
    return {**fitted.context, "metrics": fitted.metrics}


def _recorded(question: PartQuestion, ledger: Ledger) -> Entry | None:
    asked = (question.tool, question.arguments)
    answers = [entry for entry in ledger.entries if (entry.tool, entry.arguments) == asked]
    return next((entry for entry in reversed(answers) if not _is_error(entry.answer)), None)


def _is_error(answer: JsonValue) -> bool:
    return isinstance(answer, Mapping) and bool(answer.get("error"))


def _asked(question: PartQuestion, tools: DiagnosticTools, ledger: Ledger, within: timedelta) -> tuple[JsonValue, str]:
    """The answer, recorded; and why no other tool is worth asking. An outage costs its time once, not every time."""
    tool, arguments = question.tool, question.arguments
    try:
        return ledger.record(tool, arguments, tools.call(tool, arguments, within=within)).answer, ""
    except AffidavitError as error:
        return ledger.record(tool, arguments, {"error": str(error)}).answer, "the tools cannot be reached"
