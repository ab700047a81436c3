"""Whether the bundle that a collection delivered has been indexed: what those who wait for it ask."""

from dataclasses import dataclass
from datetime import timedelta

from affidavit.nodes.ingest.ingest_records import IngestRecord, outcome_of, records_of
from affidavit.nodes.ingest.ingest_sources import upload_of
from affidavit.ports.node_collector import Execution
from affidavit.ports.object_store import ObjectMissing, ObjectStore
from affidavit.ports.table import Table

# The clocks of S3 and SSM need not agree to the second.
CLOCKS_APART = timedelta(seconds=60)


@dataclass(frozen=True, kw_only=True)
class AwaitedBundles:
    """Goes by what ingest recorded about this very upload: an index of an earlier bundle is no answer."""

    objects: ObjectStore
    state: Table

    def is_indexed(self, instance_id: str, execution: Execution) -> bool:
        record = self._record(instance_id, execution)
        return record is not None and not record.is_failure

    def index_of(self, instance_id: str, execution: Execution) -> str | None:
        """None also when the archive was written after the execution had ended: then somebody else wrote it."""
        if execution.archive_key is None or execution.ended is None:
            return None
        stored = self.objects.head(execution.archive_key)
        if stored is None or stored.modified > execution.ended + CLOCKS_APART:
            return None
        record = self._record(instance_id, execution)
        return record.index_id if record is not None else None

    def doubt(self, instance_id: str, execution: Execution) -> str:
        """Why its origin is unproven; empty where it is not."""
        record = self._record(instance_id, execution)
        return record.doubt if record is not None else ""

    def failure(self, instance_id: str, execution: Execution) -> str | None:
        record = self._record(instance_id, execution)
        return record.reason if record is not None and record.is_failure else None

    def _record(self, instance_id: str, execution: Execution) -> IngestRecord | None:
        if execution.archive_key is None:
            return self._record_since(instance_id, execution)
        try:
            upload = upload_of(execution.archive_key, self.objects)
        except ObjectMissing:  # moved away by a lifecycle rule after it was read, or not there yet
            return self._record_since(instance_id, execution)
        return outcome_of(self.state, upload.fingerprint)

    def _record_since(self, instance_id: str, execution: Execution) -> IngestRecord | None:
        """Nobody says where the archive lies: then the last one of this node that was read since the start is it."""
        since = execution.started
        records = [r for r in records_of(self.state, instance_id) if since is not None and r.recorded_at >= since]
        return max(records, key=lambda record: record.recorded_at, default=None)
