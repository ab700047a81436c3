"""`validate`: whether the stored files are the ones that were collected."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from affidavit.nodes.answers.wire import INSTANCE, Answer, CoverageReport, PinnedIndex, Request, Wire


class ValidateRequest(Request):
    instance_id: Annotated[
        str | None,
        Field(
            pattern=INSTANCE,
            validation_alias="instanceId",
            serialization_alias="instanceId",
            description="EC2 instance id of the worker node. Give this or executionId.",
        ),
    ] = None
    execution_id: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=64,
            validation_alias="executionId",
            serialization_alias="executionId",
            description="executionId of an answer of collect: validates the node it collected from.",
        ),
    ] = None
    index_id: PinnedIndex = None

    @model_validator(mode="after")
    def _names_a_node(self) -> Self:
        if (self.instance_id is None) == (self.execution_id is None):
            raise ValueError("give instanceId or executionId, and only one of them")
        return self


class CorruptedFile(Wire):
    file: str = Field(description="Path in the bundle.")
    expected_size: int = Field(description="Bytes it had when collected.")
    actual_size: int = Field(description="Bytes it has now.")
    expected_md5: str | None = Field(description="Digest when collected; null when the manifest has none.")
    actual_md5: str = Field(description="Digest now.")


class ValidateAnswer(Answer):
    instance_id: str = Field(description="The node.", validation_alias="instanceId", serialization_alias="instanceId")
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
    coverage_report: CoverageReport = Field(description="What was checked.")
