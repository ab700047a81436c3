"""What requests and answers share. Names on the wire mix camelCase and snake_case: that is the contract."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from affidavit.evidence.confidence import Confidence, Level
from affidavit.evidence.coverage import Coverage, SkipReason
from affidavit.evidence.finding import ABSENT_WHEN_NONE
from affidavit.redaction.redact import Around

_CONCISE_GAPS = 1
INSTANCE = r"^i-[0-9a-f]{8,17}$"
FINDING = r"^(F-\d{3,}|S-\d{3,})$"


class Wire(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        from_attributes=True,
    )


class Request(Wire):
    pass


InstanceId = Annotated[
    str,
    Field(
        pattern=INSTANCE,
        validation_alias="instanceId",
        serialization_alias="instanceId",
        description="EC2 instance id of the worker node, such as i-0123456789abcdef0; cluster_health lists them.",
    ),
]
LogKey = Annotated[
    str,
    Field(
        min_length=1,
        max_length=1024,
        validation_alias="logKey",
        serialization_alias="logKey",
        description="Object key of a file, as `full_key` of evidence or `key` of list_bundle_files gives it, such as "
        "eks_i-0123456789abcdef0/extracted/kubelet/kubelet.log.",
    ),
]
PinnedIndex = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=64,
        description="Answer from this very index (the `index_id` of an earlier answer). Finding ids restart in every "
        "index, so give it whenever you pass finding ids on. Without it the newest index of the node is used.",
    ),
]
FoundIndex = Annotated[
    str, Field(description="The index these finding ids belong to. Pass it on together with any of the ids.")
]
ClusterContext = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=100,
        validation_alias="clusterContext",
        serialization_alias="clusterContext",
        description="Name of the cluster. With it, findings that many bundles of this cluster show are marked "
        "`is_baseline`; nothing is hidden.",
    ),
]


class ResponseFormat(StrEnum):
    CONCISE = "concise"
    DETAILED = "detailed"


Format = Annotated[
    ResponseFormat,
    Field(
        description="concise: only finding_id, severity, pattern and count of each finding; of gaps the first, "
        "counts instead of the list of skipped files, and at most 80 characters of a query. detailed: all of it."
    ),
]


class TruncationInfo(Wire):
    original_count: int = Field(description="How many there are.")
    returned_count: int = Field(description="How many of them are in this answer.")
    next_step: str = Field(description="What to call to get the others.")


class Answer(Wire):
    success: Literal[True] = Field(default=True, description="true on every answer; an error has another shape.")
    truncated: bool = Field(
        default=False, description="true when something was left out of this answer; see truncation_info."
    )
    truncation_info: Annotated[TruncationInfo | None, ABSENT_WHEN_NONE] = Field(
        default=None, description="Only there when truncated is true."
    )
    _around: dict[str, Around] = PrivateAttr(default_factory=dict[str, Around])

    @property
    def around(self) -> Mapping[str, Around]:
        """Where texts of this answer stood, for redaction: a secret may begin before them. Never on the wire."""
        return self._around

    def standing_in(self, around: Mapping[str, Around]) -> Self:
        self._around.update(around)
        return self


class SkippedFileRecord(Wire):
    file: str = Field(description="Path in the bundle.")
    reason: SkipReason = Field(description="Why it was not read.")
    size_bytes: int = Field(description="Size of the file.")


class CoverageReport(Wire):
    """What this call looked at. Finding nothing means nothing where coverage is thin."""

    files_scanned: int = Field(description="Files that were read in full.")
    total_files: int = Field(description="Files there are.")
    coverage_pct: float = Field(description="Share of files that were read in full, in percent.")
    bytes_scanned: int = Field(description="Bytes that were read.")
    total_bytes: int = Field(description="Bytes of all files.")
    skipped_files: list[SkippedFileRecord] = Field(
        description="At most 20 files that were not read, worst first; a concise answer lists none."
    )
    skipped_total: int = Field(description="How many files were not read, listed or not.")

    @classmethod
    def of(cls, coverage: Coverage) -> "CoverageReport":
        return cls.model_validate(coverage)

    def in_form(self, form: ResponseFormat) -> "CoverageReport":
        """`skipped_total` still says how many there are."""
        return self if form is ResponseFormat.DETAILED else self.model_copy(update={"skipped_files": []})


class ConfidenceRecord(Wire):
    """How far the answer can be trusted."""

    level: Level = Field(description="high, medium or low.")
    basis: str = Field(description="What the level rests on.")
    gaps: list[str] = Field(
        description="What could not be seen. Each gap is a reason for doubt: repeat it in a report."
    )

    @classmethod
    def of(cls, confidence: Confidence) -> "ConfidenceRecord":
        return cls(level=confidence.level, basis=confidence.basis, gaps=list(confidence.gaps))

    def in_form(self, form: ResponseFormat) -> "ConfidenceRecord":
        return self.model_copy(update={"gaps": gaps_in_form(self.gaps, form)})


def gaps_in_form(gaps: Sequence[str], form: ResponseFormat) -> list[str]:
    """The first one, and how many more there are, when a concise answer is wanted."""
    if form is ResponseFormat.DETAILED or len(gaps) <= _CONCISE_GAPS:
        return list(gaps)
    return [*gaps[:_CONCISE_GAPS], f"{len(gaps) - _CONCISE_GAPS} more: ask with response_format detailed"]


def cut(total: int, returned: int, next_step: str) -> TruncationInfo | None:
    """None when nothing was left out."""
    if returned >= total:
        return None
    return TruncationInfo(original_count=total, returned_count=returned, next_step=next_step)
