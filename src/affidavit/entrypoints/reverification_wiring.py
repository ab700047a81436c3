"""Proves stored diagnoses again, out of what is stored alone. `NodeLines` reads what they cite about nodes."""

from typing import TYPE_CHECKING

from affidavit.bootstrap import App
from affidavit.errors import EvidenceUnavailable
from affidavit.incidents.store.blobs import Records
from affidavit.incidents.store.incident_leases import IncidentStates
from affidavit.incidents.store.stored_diagnoses import IncidentContexts
from affidavit.ports.object_store import ObjectStore

if TYPE_CHECKING:
    from affidavit.evidence.finding import ByteRange, Evidence
    from affidavit.incidents.reading.diagnosis_reverification import Rereading
    from affidavit.nodes.library.stored_lines import StoredLines


def rereading(app: App) -> "Rereading":
    """Proves stored diagnoses again: no chat model, nothing but what is stored."""
    from affidavit.incidents.reading.diagnosis_reverification import Rereading

    records = Records(app.objects)
    tokens = app.settings.max_tokens_per_incident
    return Rereading(
        states=IncidentStates(app.incident_state, app.clock),
        contexts=IncidentContexts(app.incident_context, records, app.clock, max_tokens=tokens),
        records=records,
        source=NodeLines(app.objects),
        clock=app.clock,
    )


class NodeLines:
    """A ByteSource over the stored files of every node: a key begins with its instance."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects
        self._instances: dict[str, StoredLines] = {}

    def read(self, evidence: "Evidence", span: "ByteRange") -> bytes:
        return self._of(evidence).read(evidence, span)

    def newlines_before(self, evidence: "Evidence", offset: int) -> int:
        return self._of(evidence).newlines_before(evidence, offset)

    def _of(self, evidence: "Evidence") -> "StoredLines":
        from affidavit.nodes.library.stored_lines import LineIndexes, StoredLines

        folder = evidence.full_key.partition("/")[0]
        if not folder.startswith("eks_"):
            raise EvidenceUnavailable(
                f"{evidence.full_key} is not in a bundle that is stored here", hint="ingest the bundle first"
            )
        instance = folder.removeprefix("eks_")
        if instance not in self._instances:
            self._instances[instance] = StoredLines(instance, self._objects, LineIndexes())
        return self._instances[instance]
