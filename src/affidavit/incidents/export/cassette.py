"""A cassette: one incident with every tool answer and every turn of the chat model that led to its diagnosis.

It is handed on and investigated again without account, store or chat model. It is redacted once more on its way out,
and says in its notes where that changed more than a secret.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from affidavit.errors import EvidenceUnavailable, InputRefused
from affidavit.evidence.citation_check import ByteSource
from affidavit.evidence.diagnosis import Diagnosis, ProducedBy
from affidavit.incidents.attempt.answer_ledger import Entry
from affidavit.incidents.export.cassette_redaction import ConsistentRedaction
from affidavit.incidents.export.cited_lines import CitedLine, cited_lines
from affidavit.incidents.incident import Incident, incident_from_json, incident_to_json
from affidavit.incidents.store.blobs import Records
from affidavit.incidents.store.stored_diagnoses import IncidentContext
from affidavit.ports.json import JsonValue
from affidavit.redaction.answer import redact_answer
from affidavit.redaction.redact import Redactor
from affidavit.verification.ledger_entry import entry_from_json, make_entry

Turn = Mapping[str, Any]
"""What the chat model said once: `content`, `tool_calls` of `{id, name, args}`, `usage` where it is known."""
ACCEPTED = "accepted"


@dataclass(frozen=True, kw_only=True)
class Cassette:
    incident: Incident
    entries: tuple[Entry, ...]
    diagnosis: Diagnosis | None
    """As it was stored; None when there was none."""
    turns: tuple[Turn, ...] = ()
    """Empty where rules stood in for a chat model: they are asked again."""
    notes: tuple[str, ...] = ()
    lines: tuple[CitedLine, ...] = ()
    """Of a node's bundle: the lines that the diagnosis quotes."""
    resolved_at: datetime | None = None
    """When the sender said that the alert is over, if it did."""

    def answers(self, tool: str, arguments: Mapping[str, JsonValue]) -> list[JsonValue]:
        """What the tool said to this, in order."""
        asked = (tool, dict(arguments))
        return [entry.answer for entry in self.entries if (entry.tool, dict(entry.arguments)) == asked]


class Playback:
    """The tools of a cassette. Each repeats its recorded answer; a call that was not recorded gets an error."""

    def __init__(self, cassette: Cassette) -> None:
        self._cassette = cassette
        self._asked: dict[str, int] = {}

    def answer(self, tool: str, arguments: Mapping[str, JsonValue]) -> JsonValue:
        known = self._cassette.answers(tool, arguments)
        if not known:
            return {"error": f"the cassette holds no answer of {tool} to this", "hint": "name it as a gap"}
        key = json.dumps([tool, dict(arguments)], sort_keys=True)
        number = self._asked.get(key, 0)
        self._asked[key] = number + 1
        return known[min(self._first(tool, len(known)) + number, len(known) - 1)]

    def _first(self, tool: str, known: int) -> int:
        """An earlier attempt may have asked, too; the turns are those of the last. Without turns, what is newest."""
        calls = [call for turn in self._cassette.turns for call in turn.get("tool_calls", ()) if call["name"] == tool]
        return max(0, known - max(1, len(calls)))


class _Call(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    name: str
    args: dict[str, Any]


class _Turn(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    content: str
    tool_calls: list[_Call] = []
    usage: dict[str, int] | None = None


class _Shape(BaseModel):
    """Files of version 1 have no turns, those before version 3 no lines. Version 4 is of an alert that is over."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cassette: Literal[1, 2, 3, 4]
    incident: dict[str, Any]
    answers: Annotated[list[dict[str, Any]], Field(min_length=1)]
    turns: list[_Turn] = []
    diagnosis: dict[str, Any] | None
    notes: list[str] = []
    lines: list[CitedLine] = []
    resolved_at: datetime | None = None


def record(
    incident: Incident,
    context: IncidentContext,
    records: Records,
    source: ByteSource | None = None,
    *,
    resolved_at: datetime | None = None,
) -> Cassette:
    """`source` has the bundles whose lines are quoted.

    Raises EvidenceUnavailable when an answer or the chain is gone or was changed.
    """
    if not context.ledger:
        raise EvidenceUnavailable(
            f"incident {incident.incident_id} has no recorded answers", hint="there is nothing to replay"
        )
    redactor = Redactor()
    entries = records.entries(context.ledger)
    kept = tuple(_redacted(entry, redactor) for entry in entries)
    hiding = ConsistentRedaction(entries, kept, redactor, source)
    chain = _chain(context, records)
    return Cassette(
        incident=_told(incident, redactor),
        entries=kept,
        turns=() if _is_by_rules(context, chain) else tuple(_turns(chain, hiding)),
        diagnosis=_diagnosis(context.diagnosis, hiding),
        notes=tuple(dict.fromkeys(hiding.notes)),
        lines=tuple(cited_lines(context.diagnosis, entries, source)),
        resolved_at=resolved_at,
    )


def cassette_to_json(cassette: Cassette) -> str:
    is_over = cassette.resolved_at is not None
    shape = _Shape(
        cassette=4 if is_over else 3,
        incident=json.loads(incident_to_json(cassette.incident)),
        answers=[cast("dict[str, Any]", entry.as_json()) for entry in cassette.entries],
        turns=[_Turn.model_validate(turn) for turn in cassette.turns],
        diagnosis=None if cassette.diagnosis is None else cassette.diagnosis.model_dump(mode="json"),
        notes=list(cassette.notes),
        lines=list(cassette.lines),
        resolved_at=cassette.resolved_at,
    )
    # Without it the file is one that earlier versions read.
    told = shape.model_dump(mode="json", exclude=None if is_over else {"resolved_at"})
    return json.dumps(told, indent=1) + "\n"


def cassette_from_json(text: str, *, name: str) -> Cassette:
    """Raises InputRefused for anything else, EvidenceUnavailable when an answer was changed after it was recorded."""
    try:
        shape = _Shape.model_validate(json.loads(text))
        incident = incident_from_json(json.dumps(shape.incident))
        diagnosis = None if shape.diagnosis is None else Diagnosis.model_validate(shape.diagnosis)
    except (ValidationError, ValueError) as error:
        raise InputRefused(f"{name} is no cassette", hint="make one with `affidavit incident export`") from error
    return Cassette(
        incident=incident,
        entries=tuple(entry_from_json(json.dumps(answer)) for answer in shape.answers),
        turns=tuple(turn.model_dump() for turn in shape.turns),
        diagnosis=diagnosis,
        notes=tuple(shape.notes),
        lines=tuple(shape.lines),
        resolved_at=shape.resolved_at,
    )


def _chain(context: IncidentContext, records: Records) -> Sequence[Mapping[str, Any]]:
    whole = records.read(context.chain_key) if context.chain_key is not None else context.reasoning_chain
    return cast("Sequence[Mapping[str, Any]]", whole or ())


def _is_by_rules(context: IncidentContext, chain: Sequence[Mapping[str, Any]]) -> bool:
    """Whether rules ran instead of a chat model, and not only after one that handed in nothing."""
    was_taken = any(link["role"] == "tool" and link["content"] == ACCEPTED for link in chain)
    return was_taken and context.diagnosis is not None and context.diagnosis.produced_by is ProducedBy.RULES


def _turns(chain: Sequence[Mapping[str, Any]], hiding: ConsistentRedaction) -> Sequence[Turn]:
    said = [link for link in chain if link["role"] == "assistant"]
    return [_turn(link, hiding, f"turn {number}") for number, link in enumerate(said, 1)]


def _turn(link: Mapping[str, Any], hiding: ConsistentRedaction, place: str) -> Turn:
    calls = [{**call, "args": hiding.arguments(call["args"], place)} for call in link.get("tool_calls", ())]
    return {"content": hiding.text(str(link["content"])), "tool_calls": calls, "usage": link.get("usage")}


def _diagnosis(diagnosis: Diagnosis | None, hiding: ConsistentRedaction) -> Diagnosis | None:
    if diagnosis is None:
        return None
    return Diagnosis.model_validate(hiding.arguments(diagnosis.model_dump(mode="json"), "the diagnosis"))


def _told(incident: Incident, redactor: Redactor) -> Incident:
    """What the alert said may hold a secret, too."""
    texts = (incident.message, incident.signal_name, incident.error_type)
    message, signal_name, error_type = (redactor.redact(one).text for one in texts)
    return replace(incident, message=message, signal_name=signal_name, error_type=error_type, may_join=None)


def _redacted(entry: Entry, redactor: Redactor) -> Entry:
    answer = redact_answer(entry.answer, redactor)[0] if isinstance(entry.answer, Mapping) else entry.answer
    return make_entry(entry.entry_id, entry.tool, entry.arguments, answer)
