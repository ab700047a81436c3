"""`list_bundle_files` and `artifact`: what is in a bundle, and a link to one file of it."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from affidavit.bundle.manifest import FileStatus, FileType
from affidavit.evidence.coverage import Coverage, SkipReason
from affidavit.evidence.finding import ABSENT_WHEN_NONE
from affidavit.nodes.library.upload_origin import OriginProof
from affidavit.nodes.wire.shared_fields import EchoedNode, FoundIndex, InstanceId, LogKey, NodeRequest, PinnedIndex
from affidavit.wire.records import ToolAnswer, ToolRequest, WireRecord


class ListBundleFilesRequest(NodeRequest):
    instance_id: InstanceId
    under: str = Field(default="", max_length=500, description="Only paths that begin with this.")
    offset: int = Field(default=0, ge=0, description="Files to skip.")
    index_id: PinnedIndex = None


class BundleFile(WireRecord):
    path: str = Field(description="Path in the bundle.")
    key: str = Field(description="Pass it as logKey to read or artifact.")
    size_bytes: int = Field(description="Its size.")
    type: FileType = Field(description="What kind of file it is.")
    status: FileStatus = Field(description="Whether it could be stored.")
    scanned: bool | None = Field(description="Whether the index looked at it in full; null when nothing tells.")
    reason: Annotated[str | None, ABSENT_WHEN_NONE] = Field(
        default=None, description="Why it is not stored or not scanned."
    )
    skip_reason: Annotated[SkipReason | None, ABSENT_WHEN_NONE] = Field(
        default=None, description="Why the index did not look at it."
    )


class ListBundleFilesAnswer(ToolAnswer):
    instance_id: EchoedNode
    index_id: FoundIndex
    origin: Annotated[OriginProof | None, ABSENT_WHEN_NONE] = Field(
        default=None, description="unproven: another node brought this bundle. Absent: an operator did."
    )
    manifest_version: str | None = Field(description="null: there is no manifest; the files are those that are stored.")
    files: list[BundleFile] = Field(description="In path order.")
    total_files: int = Field(description="Files that fit the question, listed or not.")
    total_size_bytes: int = Field(description="Their size together.")
    coverage_report: Coverage = Field(description="What the index looked at.")


class ArtifactRequest(ToolRequest):
    log_key: LogKey
    expiration_minutes: Annotated[
        int,
        Field(
            ge=1,
            le=15,
            validation_alias="expirationMinutes",
            serialization_alias="expirationMinutes",
            description="How long the link works.",
        ),
    ] = 5


class ArtifactAnswer(ToolAnswer):
    log_key: LogKey
    url: str = Field(
        description="A presigned link, which is a secret: show it to nobody else. Where bundles lie on the machine of "
        "the server, the path of the file there."
    )
    size_bytes: int = Field(description="Size of the file.")
    expires_at: datetime | None = Field(description="When the link stops working, UTC; null for a path, which stays.")
