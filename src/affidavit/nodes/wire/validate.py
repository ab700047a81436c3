"""`validate`: whether the stored files are the ones that were collected."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from affidavit.evidence.coverage import SkippedFile
from affidavit.nodes.wire.shared_fields import INSTANCE, EchoedNode, NodeRequest, PinnedIndex
from affidavit.wire.records import ToolAnswer, WireRecord


class ValidateRequest(NodeRequest):
    instance_id: Annotated[
        str | None,
        Field(
            pattern=INSTANCE,
            validation_alias="instanceId",
            serialization_alias="instanceId",
            description="This or executionId.",
        ),
    ] = None
    execution_id: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=64,
            validation_alias="executionId",
            serialization_alias="executionId",
            description="Of collect.",
        ),
    ] = None
    index_id: PinnedIndex = None

    @model_validator(mode="after")
    def _names_a_node(self) -> Self:
        if (self.instance_id is None) == (self.execution_id is None):
            raise ValueError("give instanceId or executionId, and only one of them")
        return self


class CorruptedFile(WireRecord):
    file: str = Field(description="Path in the bundle.")
    expected_size: int = Field(description="Bytes it had when collected.")
    actual_size: int = Field(description="Bytes it has now.")
    expected_md5: str | None = Field(description="Digest when collected; null when the manifest has none.")
    actual_md5: str = Field(description="Digest now.")


class CheckedCoverage(WireRecord):
    """What was checked: a missing file could not be."""

    files_scanned: int = Field(description="Files whose checksum was computed.")
    total_files: int = Field(description="Files of the archive.")
    coverage_pct: float = Field(description="Share of files that were checked, in percent.")
    bytes_scanned: int = Field(description="Bytes that were read.")
    total_bytes: int = Field(description="Bytes of all files.")
    skipped_files: list[SkippedFile] = Field(description="Some of the files that were not checked.")
    skipped_total: int = Field(description="How many files were not checked, listed or not.")
    missing_files: list[str] = Field(description="Some of the files that are not stored.")


class ValidateAnswer(ToolAnswer):
    instance_id: EchoedNode
    index_id: str | None = Field(description="The index whose files were checked; null when there is none yet.")
    manifest_version: str | None = Field(description="null: there is no manifest, so nothing could be verified.")
    complete: bool = Field(
        description="true only when every file of the archive is stored and its checksum was computed and agrees."
    )
    verified_files: int = Field(description="Files whose checksum was computed just now and agrees.")
    total_expected: int = Field(description="Files of the archive.")
    missing_files: list[str] = Field(description="Files that the archive held and that are not stored, or were never.")
    corrupted_files: list[CorruptedFile] = Field(description="Files that are not what was collected.")
    missing_total: int = Field(description="How many are missing, listed or not.")
    corrupted_total: int = Field(description="How many are corrupted, listed or not.")
    total_size_bytes: int = Field(description="Size of the files of the archive together.")
    gaps: list[str] = Field(description="What could not be checked, and why.")
    coverage_report: CheckedCoverage = Field(description="What was checked.")
