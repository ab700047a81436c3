"""Tells the state of an archive in our store: missing, uploaded, indexed or unreadable."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from affidavit.incidents.evidence.node_evidence_port import CollectionStanding, CollectionState
from affidavit.nodes.ingest.ingest_records import outcome_of
from affidavit.nodes.ingest.ingest_sources import upload_of
from affidavit.nodes.library.object_keys import prefix_of
from affidavit.ports.object_store import ObjectMissing, ObjectStore
from affidavit.ports.table import Table

# The clocks of S3 and of a node need not agree to the second.
CLOCKS_APART = timedelta(seconds=60)


def archive_name(instance_id: str, token: str, what: str) -> str:
    """The same for the same token: whoever writes it again writes the same object."""
    return f"{prefix_of(instance_id)}/{instance_id}_{what}_{token.removeprefix('incident-')[:16]}.tar.gz"


@dataclass(frozen=True, kw_only=True)
class Archives:
    objects: ObjectStore
    state: Table

    def standing(self, key: str, *, finished_at: datetime | None = None) -> CollectionStanding | None:
        """None while there is none. What was written after its maker had finished is somebody else's."""
        stored = self.objects.head(key)
        if stored is None:
            return None
        if finished_at is not None and stored.modified > finished_at + CLOCKS_APART:
            says = "the archive was written after its collection had ended, so somebody else wrote it"
            return CollectionStanding(state=CollectionState.FAILED, says=says)
        try:
            record = outcome_of(self.state, upload_of(key, self.objects).fingerprint)
        except ObjectMissing:
            return None
        if record is None:
            says = "it is in the bucket; it is being indexed"
            return CollectionStanding(state=CollectionState.WORKING, says=says, is_saved=True)
        if record.index_id is None:
            says = f"it is in the bucket, and could not be indexed: {record.reason}"
            return CollectionStanding(state=CollectionState.FAILED, says=says)
        return CollectionStanding(
            state=CollectionState.DONE, says="it is indexed", index_id=record.index_id, is_saved=True
        )
