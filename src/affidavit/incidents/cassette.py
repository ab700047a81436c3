"""A cassette: one incident with every tool answer it was diagnosed from, to be handed on and investigated again.

Redacted once more on its way out. What its diagnosis rests on is inside, so it needs no account and no store.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from affidavit.errors import EvidenceUnavailable, InputRefused
from affidavit.evidence.diagnosis import Diagnosis
from affidavit.incidents.context import Context
from affidavit.incidents.incident import Incident, incident_from_json, incident_to_json
from affidavit.incidents.ledger import Entry, Ledger
from affidavit.incidents.records import Records
from affidavit.ports import JsonValue
from affidavit.redaction.answer import redact_answer
from affidavit.redaction.redact import Redactor
from affidavit.verification.entry import entry_from_json


@dataclass(frozen=True, kw_only=True)
class Cassette:
    incident: Incident
    entries: tuple[Entry, ...]
    diagnosis: Diagnosis | None
    """As it was stored; None when there was none."""

    def answer(self, tool: str, arguments: Mapping[str, JsonValue]) -> JsonValue:
        """What the tool said then, the newest answer first; an error says that nobody asked."""
        for entry in reversed(self.entries):
            if (entry.tool, dict(entry.arguments)) == (tool, dict(arguments)):
                return entry.answer
        return {"error": f"the cassette holds no answer of {tool} to this", "hint": "name it as a gap"}


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    cassette: Literal[1] = 1
    incident: dict[str, Any]
    answers: list[dict[str, Any]]
    diagnosis: dict[str, Any] | None


def record(incident: Incident, context: Context, records: Records) -> Cassette:
    """Raises EvidenceUnavailable when an answer is gone or was changed."""
    if not context.ledger:
        raise EvidenceUnavailable(
            f"incident {incident.incident_id} has no recorded answers", hint="there is nothing to replay"
        )
    redactor, ledger = Redactor(), Ledger()
    for entry in records.entries(context.ledger):
        ledger.record(entry.tool, entry.arguments, _redacted(entry.answer, redactor))
    diagnosis = context.diagnosis
    if diagnosis is not None:
        diagnosis = Diagnosis.model_validate(_redacted(diagnosis.model_dump(mode="json"), redactor))
    return Cassette(incident=_told(incident, redactor), entries=ledger.entries, diagnosis=diagnosis)


def cassette_to_json(cassette: Cassette) -> str:
    shape = _Shape(
        incident=json.loads(incident_to_json(cassette.incident)),
        answers=[cast("dict[str, Any]", entry.as_json()) for entry in cassette.entries],
        diagnosis=None if cassette.diagnosis is None else cassette.diagnosis.model_dump(mode="json"),
    )
    return json.dumps(shape.model_dump(), indent=1) + "\n"


def cassette_from_json(text: str, *, name: str) -> Cassette:
    """Raises InputRefused for anything else, EvidenceUnavailable when an answer was changed after it was recorded."""
    try:
        shape = _Shape.model_validate(json.loads(text))
        incident = incident_from_json(json.dumps(shape.incident))
        diagnosis = None if shape.diagnosis is None else Diagnosis.model_validate(shape.diagnosis)
    except (ValidationError, ValueError) as error:
        raise InputRefused(f"{name} is no cassette", hint="make one with `affidavit incident export`") from error
    entries = tuple(entry_from_json(json.dumps(answer)) for answer in shape.answers)
    return Cassette(incident=incident, entries=entries, diagnosis=diagnosis)


def _told(incident: Incident, redactor: Redactor) -> Incident:
    """What the alert said may hold a secret, too."""
    texts = (incident.message, incident.signal_name, incident.error_type)
    message, signal_name, error_type = (redactor.redact(one).text for one in texts)
    return replace(incident, message=message, signal_name=signal_name, error_type=error_type, may_join=None)


def _redacted(value: JsonValue, redactor: Redactor) -> Any:
    return redact_answer(value, redactor)[0] if isinstance(value, Mapping) else value
