"""Reads version 1 indexes of other programs, which have no byte ranges, digests or times."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, cast

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

from affidavit.evidence.finding import EXCERPT_CHARACTERS, Evidence, Finding, LineRange, Occurrence
from affidavit.evidence.severity import FROM_V1, Severity


def _severity(value: object) -> Severity:
    found = FROM_V1.get(value.lower()) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f"it is not one of {', '.join(FROM_V1)}")
    return found


def _several(value: object) -> list[object]:
    """One line, several or none."""
    if value is None:
        return []
    return cast(list[object], value) if isinstance(value, list) else [value]


_Lines = Annotated[tuple[Annotated[int, Field(ge=0)], ...], BeforeValidator(_several)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, coerce_numbers_to_str=True)


class FindingOfVersion1(_Record):
    file: str
    severity: Annotated[Severity, BeforeValidator(_severity)]
    pattern: str
    finding_id: str | None = None
    rule: str = "unknown"
    description: str = ""
    count: int | None = None
    lines: _Lines = ()
    full_key: Annotated[str | None, Field(validation_alias=AliasChoices("full_key", "fullKey"))] = None
    sample: str | None = None


class IndexOfVersion1(_Record):
    findings: tuple[FindingOfVersion1, ...]
    index_id: str = "v1"
    rules_version: str = "v1"
    instance_id: Annotated[str, Field(alias="instanceId")] = "unknown"
    indexed_at: Annotated[datetime, Field(alias="indexedAt")] = datetime(1970, 1, 1, tzinfo=UTC)
    manifest_ref: str = ""
    indexing_duration_ms: int = 0


def lifted_findings(old: IndexOfVersion1) -> Iterator[Finding]:
    """In the shape of version 2; what version 1 did not know is null."""
    return (_lifted(number, finding) for number, finding in enumerate(old.findings, 1))


def _lifted(number: int, old: FindingOfVersion1) -> Finding:
    return Finding(
        finding_id=old.finding_id or f"F-{number:03d}",
        rule=old.rule,
        severity=old.severity,
        pattern=old.pattern,
        description=old.description,
        component="unknown",
        signal="unknown",
        count=old.count if old.count is not None else max(1, len(old.lines)),
        first_seen=None,
        last_seen=None,
        evidence=_evidence(old),
        additional_occurrences=tuple(Occurrence(line=line, byte_offset=None, timestamp=None) for line in old.lines[1:]),
    )


def _evidence(old: FindingOfVersion1) -> Evidence:
    return Evidence(
        source_file=old.file,
        full_key=old.full_key if old.full_key is not None else old.file,
        excerpt=(old.sample or "")[:EXCERPT_CHARACTERS],
        line_range=LineRange(start=old.lines[0], end=old.lines[0]) if old.lines else None,
        byte_offset=None,
        timestamp=None,
        sha256=None,
    )
