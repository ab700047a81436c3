"""`read`: whole lines of one file."""

from typing import Annotated, Literal

from pydantic import Field

from affidavit.evidence.finding import ABSENT_WHEN_NONE
from affidavit.nodes.wire.shared_fields import LogKey, NodeRequest
from affidavit.wire.records import ToolAnswer


class ReadRequest(NodeRequest):
    log_key: LogKey
    start_byte: Annotated[
        int | None,
        Field(
            ge=0,
            validation_alias="startByte",
            serialization_alias="startByte",
            description="Begin here; inside a line, at the next one.",
        ),
    ] = None
    end_byte: Annotated[
        int | None,
        Field(
            ge=1,
            validation_alias="endByte",
            serialization_alias="endByte",
            description="Stop here; default: whole lines up to max_bytes.",
        ),
    ] = None
    start_line: Annotated[
        int | None,
        Field(
            ge=1,
            validation_alias="startLine",
            serialization_alias="startLine",
            description="Begin at this line (1-based).",
        ),
    ] = None
    line_count: Annotated[
        int,
        Field(
            ge=1,
            le=100_000,
            validation_alias="lineCount",
            serialization_alias="lineCount",
            description="Most lines to return; not together with bytes.",
        ),
    ] = 1000


class ReadAnswer(ToolAnswer):
    """Lines as they are stored. Follow nextChunkStart from 0 to read the whole file."""

    log_key: LogKey
    content: str = Field(
        description="Whole lines with their line ends. Bytes that are no UTF-8 are shown as U+FFFD; offsets stay true."
    )
    start_byte: int = Field(
        validation_alias="startByte",
        serialization_alias="startByte",
        description="Where the first line begins in the file.",
    )
    end_byte: int = Field(
        validation_alias="endByte", serialization_alias="endByte", description="Where the last line ends, exclusive."
    )
    line_count: int = Field(
        description="Lines in `content`.", validation_alias="lineCount", serialization_alias="lineCount"
    )
    total_size: int = Field(
        validation_alias="totalSize", serialization_alias="totalSize", description="Size of the file in bytes."
    )
    total_size_human: str = Field(
        description="The same, for people.", validation_alias="totalSizeHuman", serialization_alias="totalSizeHuman"
    )
    has_more: bool = Field(
        description="true when the file goes on.", validation_alias="hasMore", serialization_alias="hasMore"
    )
    next_chunk_start: int | None = Field(
        validation_alias="nextChunkStart",
        serialization_alias="nextChunkStart",
        description="startByte of the next call; null at the end of the file.",
    )
    line_aligned: Literal[True] = Field(
        description="Always: no line is ever cut.",
        default=True,
        validation_alias="lineAligned",
        serialization_alias="lineAligned",
    )
    link: Annotated[str | None, ABSENT_WHEN_NONE] = Field(
        default=None,
        description="Only there when not all that was asked for fits into one answer, and the caller may have whole "
        "files: a short-lived link to the whole file.",
    )
