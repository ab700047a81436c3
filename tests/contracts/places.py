"""The adapters of each port, opened from a description that also another process can use."""

import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.storage.objects import S3ObjectStore
from affidavit.adapters.aws.storage.table import DynamoTable
from affidavit.adapters.local.objects import DirectoryObjectStore
from affidavit.adapters.local.table import SqliteTable
from affidavit.ports.clock import Clock, SystemClock
from affidavit.ports.object_store import ObjectStore
from affidavit.ports.table import Table


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where an adapter keeps its things. Empty `environment`: on this machine's disk."""

    folder: Path
    environment: Mapping[str, str]
    bucket: str
    tables: tuple[str, str] = field(default_factory=lambda: (f"one-{uuid.uuid4().hex}", f"two-{uuid.uuid4().hex}"))

    def table(self, number: int = 0, clock: Clock | None = None) -> Table:
        clock = clock or SystemClock()
        if not self.environment:
            return SqliteTable(self.folder / "state.sqlite", self.tables[number], clock)
        return DynamoTable(self._clients(), self.tables[number], clock)

    def objects(self) -> ObjectStore:
        if not self.environment:
            return DirectoryObjectStore(self.folder / "objects")
        return S3ObjectStore(self._clients(), self.bucket, kms_key_id="", cache_dir=self.folder / "cache")

    def _clients(self) -> AwsClients:
        os.environ.update(self.environment)
        return AwsClients(self.environment["AWS_REGION"])
