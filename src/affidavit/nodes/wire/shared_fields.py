"""What requests and answers about nodes share. Names on the wire mix camelCase and snake_case: that is the contract."""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from affidavit.evidence.confidence import Confidence
from affidavit.evidence.coverage import Coverage
from affidavit.wire.byte_budget import MAX_BYTES, MaxBytes
from affidavit.wire.records import ToolRequest

INSTANCE = r"^i-[0-9a-f]{8,17}$"
# Gaps listed in one answer. A gap can name twenty files.
_GAPS = 10
_LAST_GAPS = 2
_CONCISE_GAPS = 1


class NodeRequest(ToolRequest):
    max_bytes: MaxBytes = MAX_BYTES


InstanceId = Annotated[
    str,
    Field(
        pattern=INSTANCE,
        validation_alias="instanceId",
        serialization_alias="instanceId",
    ),
]
EchoedNode = Annotated[
    str, Field(validation_alias="instanceId", serialization_alias="instanceId", description="The node that was asked.")
]
LogKey = Annotated[
    str,
    Field(
        min_length=1,
        max_length=1024,
        validation_alias="logKey",
        serialization_alias="logKey",
        description="full_key of evidence, or key of list_bundle_files.",
    ),
]
PinnedIndex = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=64,
        description="Of the answer with the ids; default: newest.",
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
        description="Cluster whose usual findings are marked is_baseline.",
    ),
]


class ResponseFormat(StrEnum):
    CONCISE = "concise"
    DETAILED = "detailed"


Format = Annotated[
    ResponseFormat,
    Field(description="concise: one short row each."),
]


def coverage_in_form(coverage: Coverage, form: ResponseFormat) -> Coverage:
    """Without names of skipped files in a concise answer; `skipped_total` still counts them."""
    return coverage if form is ResponseFormat.DETAILED else replace(coverage, skipped_files=())


def trust_in_form(confidence: Confidence, form: ResponseFormat = ResponseFormat.DETAILED) -> Confidence:
    return replace(confidence, gaps=tuple(gaps_in_form(confidence.gaps, form)))


def gaps_in_form(
    gaps: Sequence[str], form: ResponseFormat = ResponseFormat.DETAILED, *, most: int = _GAPS
) -> list[str]:
    """The first gaps and the last, which are about the whole answer, and how many there are in between."""
    shown = most if form is ResponseFormat.DETAILED else _CONCISE_GAPS
    if len(gaps) <= shown:
        return list(gaps)
    where = (
        "ask errors with a larger max_bytes" if form is ResponseFormat.DETAILED else "ask with response_format detailed"
    )
    behind = min(_LAST_GAPS, shown // 2)
    more = f"{len(gaps) - shown} more gaps: {where}"
    return [*gaps[: shown - behind], more, *gaps[len(gaps) - behind :]]
