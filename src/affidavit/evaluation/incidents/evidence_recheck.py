"""Checks claimed evidence again by asking the account a second time.

It shares no code with `verification`, which decided what was stored: a mistake there shows as a number here.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

from affidavit.evaluation.incidents.absence_sentences import ABSENCES
from affidavit.evaluation.incidents.workload_scenarios import WorkloadScenario
from affidavit.ports.json import JsonValue
from affidavit.redaction.answer import redact_answer
from affidavit.redaction.redact import Redactor
from affidavit.verification.ledger_entry import Entry
from affidavit.workloads.wire import TOOL_ARG_SCHEMAS

# A shorter part of a text proves nothing: it is found almost anywhere.
_SHORTEST_PART = 8


class SecondLook:
    """At one scenario's account. `is_shown` needs an answer that was recorded as the account gives it."""

    def __init__(self, scenario: WorkloadScenario) -> None:
        self._scenario = scenario

    def fabricated(self, claims: Sequence[Mapping[str, Any]], entries: Sequence[Entry]) -> list[str]:
        """Claims, by position, that point at nothing: not recorded, recorded differently, or with another value."""
        genuine = {entry.tool for entry in entries if self._is_genuine(entry)}
        return [
            f"evidence[{number}] {claim.get('tool')} {claim.get('field')}"
            for number, claim in enumerate(claims)
            if claim.get("tool") not in genuine or not self._is_shown(claim) or self._denies_unread(claim)
        ]

    def _denies_unread(self, claim: Mapping[str, Any]) -> bool:
        """Whether it says that something is absent, although the answer is incomplete."""
        answer = self._answers[str(claim["tool"])]
        if claim.get("interpretation") not in ABSENCES or not isinstance(answer, Mapping):
            return False
        return bool(answer.get("error")) or answer.get("is_complete") is not True

    def _is_genuine(self, entry: Entry) -> bool:
        return entry.tool in self._answers and _same(entry.answer, self._answers[entry.tool])

    def _is_shown(self, claim: Mapping[str, Any]) -> bool:
        field = str(claim.get("field", ""))
        found = _pointed(self._answers[str(claim["tool"])], field)
        return any(_shows(there, claim.get("value")) for there in found)

    @cached_property
    def _answers(self) -> Mapping[str, JsonValue]:
        workloads, redactor = self._scenario.workloads(), Redactor()
        return {
            tool: redact_answer(workloads.answer(tool, {"lambda_name": self._scenario.function}), redactor)[0]
            for tool in TOOL_ARG_SCHEMAS
        }


def _pointed(answer: JsonValue, field: str) -> Iterator[JsonValue]:
    """The value at a JSON Pointer, or at each possible reading of a dotted path."""
    if field.startswith("/"):
        return _walk(answer, field[1:], "/")
    return _walk(answer, field.removeprefix("$.").replace("[", ".").replace("]", ""), ".") if field else iter([answer])


def _walk(value: JsonValue, path: str, separator: str) -> Iterator[JsonValue]:
    for name, inner in _inside(value):
        written = name.replace("~", "~0").replace("/", "~1") if separator == "/" else name
        if path == written:
            yield inner
        elif path.startswith(f"{written}{separator}"):
            yield from _walk(inner, path[len(written) + 1 :], separator)


def _inside(value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    if isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield from ((str(number), inner) for number, inner in enumerate(value))


def _shows(there: JsonValue, claimed: JsonValue) -> bool:
    if isinstance(there, str) and isinstance(claimed, str) and len(claimed) >= _SHORTEST_PART:
        return claimed in there
    return _same(there, claimed)


def _same(left: JsonValue, right: JsonValue) -> bool:
    """Compares as JSON: `true` is not 1, and a tuple equals a list."""
    one, other = json.dumps(left), json.dumps(right)
    return one == other or _typed(json.loads(one)) == _typed(json.loads(other))


def _typed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _typed(inner) for key, inner in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_typed(inner) for inner in cast("list[Any]", value)]
    return (isinstance(value, bool), value)
