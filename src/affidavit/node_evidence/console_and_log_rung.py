"""The last two ways to a node's logs: what AWS has of its console, or in CloudWatch, becomes a small bundle.

The node is not asked. The archive lands in the bucket as a node's own would, and is indexed and verified like it.
"""

import gzip
import hashlib
import io
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from affidavit.errors import AffidavitError
from affidavit.incidents.evidence.node_evidence_port import CollectionStanding, CollectionState
from affidavit.incidents.incident import Incident
from affidavit.node_evidence.archive_state import Archives, archive_name
from affidavit.node_evidence.climb_records import Climb, Climbs, RungName
from affidavit.ports.clock import Clock
from affidavit.ports.cluster.off_host_logs import HostQuestion, HostText, HostTexts

PURPOSE = "collect"
# What led to an alert is older than the alert.
BEFORE_ALERT = timedelta(hours=2)


@dataclass(frozen=True, kw_only=True)
class TextRung:
    """`node_name` finds the name of a node whose alert did not tell it; empty when nobody knows."""

    name: RungName
    texts: HostTexts
    archives: Archives
    climbs: Climbs
    clock: Clock
    node_name: Callable[[Incident], str] = lambda incident: incident.node_name
    asks_node: bool = False
    patience: timedelta = timedelta(minutes=4)

    def stand(self, incident: Incident, climb: Climb) -> CollectionStanding:
        key = archive_name(incident.subject.id, climb.token, self.name.value)
        there = self.archives.standing(key)
        if there is not None:
            return there if self._is_ours(key, climb) else _foreign(key)
        text = self.texts.read(self._question(incident))
        if text is None:
            return CollectionStanding(state=CollectionState.FAILED, says="there is nothing")
        return self._store(text, key, climb)

    def _question(self, incident: Incident) -> HostQuestion:
        try:
            name = self.node_name(incident)
        except AffidavitError:
            name = incident.node_name
        return HostQuestion(
            instance_id=incident.subject.id,
            node_name=name,
            cluster=incident.cluster,
            region=incident.region,
            since=incident.occurred_at - BEFORE_ALERT,
            until=max(self.clock.now(), incident.occurred_at),
        )

    def _store(self, text: HostText, key: str, climb: Climb) -> CollectionStanding:
        data = packed(text.files, made_at=text.taken_at)
        self.climbs.noted(climb, digest=_digest(data))
        if not self.archives.objects.put_new(key, data, purpose=PURPOSE):
            return _foreign(key)
        says = f"it is in the bucket; it is being indexed{f' ({text.left_out})' if text.left_out else ''}"
        return CollectionStanding(state=CollectionState.WORKING, says=says, is_saved=True)

    def _is_ours(self, key: str, climb: Climb) -> bool:
        return _digest(self.archives.objects.get(key)) == climb.digest


def packed(files: Mapping[str, bytes], *, made_at: datetime) -> bytes:
    """An archive of these files. The same files and time give the same bytes."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for path, data in sorted(files.items()):
            member = tarfile.TarInfo(path)
            member.size, member.mtime, member.mode = len(data), int(made_at.timestamp()), 0o644
            archive.addfile(member, io.BytesIO(data))
    return gzip.compress(raw.getvalue(), mtime=0)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _foreign(key: str) -> CollectionStanding:
    return CollectionStanding(state=CollectionState.FAILED, says=f"somebody else wrote {key}")
