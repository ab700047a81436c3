"""Stores the long parts of an investigation as content-addressed objects, written once and never changed."""

import hashlib
import json
from collections.abc import Iterable

from affidavit.errors import EvidenceUnavailable
from affidavit.evidence.diagnosis import Diagnosis
from affidavit.incidents.attempt.answer_ledger import Entry
from affidavit.incidents.incident import IncidentId
from affidavit.ports.json import JsonValue
from affidavit.ports.object_store import ObjectMissing, ObjectStore
from affidavit.verification.ledger_entry import entry_from_json

PURPOSE = "incidents"
_DIAGNOSES = "diagnoses"


class Records:
    """A stale writer can do no harm here: its bytes have another address."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    def keep(self, incident_id: IncidentId, kind: str, value: JsonValue) -> str:
        """The object's key."""
        data = json.dumps(value, separators=(",", ":")).encode()
        key = f"incidents/{incident_id}/{kind}/{hashlib.sha256(data).hexdigest()}.json"
        self._objects.put_new(key, data, purpose=PURPOSE)
        return key

    def keep_entry(self, incident_id: IncidentId, entry: Entry) -> str:
        return self.keep(incident_id, "answers", entry.as_json())

    def read(self, key: str) -> JsonValue:
        """Raises EvidenceUnavailable when the object is gone or is not what was written under this key."""
        return json.loads(self._bytes(key))

    def keep_diagnosis(self, incident_id: IncidentId, diagnosis: Diagnosis) -> str:
        return self.keep(incident_id, _DIAGNOSES, diagnosis.model_dump_json())

    def is_as_recorded(self, incident_id: IncidentId, diagnosis: Diagnosis) -> bool:
        """Whether this diagnosis is the one on record. True also where none is: older incidents have no record."""
        kept = [one.key for one in self._objects.list(f"incidents/{incident_id}/{_DIAGNOSES}/")]
        return not kept or any(Diagnosis.model_validate_json(str(self.read(key))) == diagnosis for key in kept)

    def entries(self, keys: Iterable[str]) -> list[Entry]:
        return [entry_from_json(self._bytes(key)) for key in keys]

    def _bytes(self, key: str) -> bytes:
        try:
            data = self._objects.get(key)
        except ObjectMissing as error:
            raise EvidenceUnavailable(
                f"{key} is gone", hint="it was deleted after the investigation; nothing that cites it can be proven"
            ) from error
        if hashlib.sha256(data).hexdigest() != key.rpartition("/")[2].removesuffix(".json"):
            raise EvidenceUnavailable(
                f"{key} was changed after it was written", hint="trust nothing that cites it; look for who changed it"
            )
        return data
