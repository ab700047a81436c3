"""The findings index record, and how it is read and written. Version 1 is read; only version 2 is written."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, cast

from pydantic import Field, TypeAdapter, ValidationError

from affidavit.errors import InputRefused
from affidavit.evidence.coverage import Coverage, cover
from affidavit.evidence.finding import ABSENT_WHEN_NONE, Finding, Suppressed
from affidavit.evidence.node_verdict import NodeVerdict
from affidavit.evidence.severity import Severity
from affidavit.index.version_1 import IndexOfVersion1, lifted_findings

INDEX_VERSION = "2.0"
# What an index of version 1 that names no rule pack is given as its version.
VERSION_1 = "v1"
# Raise it whenever the same bundle and rules would give another index.
INDEXER_VERSION = "6"


@dataclass(frozen=True, kw_only=True)
class Summary:
    critical: int
    high: int
    medium: int
    low: int
    info: int
    total: int


@dataclass(frozen=True, kw_only=True)
class ClockNote:
    """Which times lines without a year, or counted from boot, were read against."""

    collected_at: datetime | None
    collected_from: str
    booted_at: datetime | None
    booted_from: str


@dataclass(frozen=True, kw_only=True)
class FindingsIndex:
    version: str
    index_id: str
    rules_version: str
    instance_id: Annotated[str, Field(alias="instanceId")]
    indexed_at: Annotated[datetime, Field(alias="indexedAt")]
    manifest_ref: str
    indexing_duration_ms: int
    coverage: Coverage
    findings: tuple[Finding, ...]
    suppressed: tuple[Suppressed, ...]
    summary: Summary
    clock: ClockNote
    gaps: tuple[str, ...]
    indexer_version: Annotated[str | None, ABSENT_WHEN_NONE] = None
    bundle_digest: Annotated[str | None, ABSENT_WHEN_NONE] = None
    """Of the names and contents of all files. Indexes made before there was one cannot be tied to their bundle."""
    redacted: Annotated[bool | None, ABSENT_WHEN_NONE] = None
    """True when secrets in its texts are hidden; absent when there were none, or it was never to leave."""
    verdict: Annotated[NodeVerdict | None, ABSENT_WHEN_NONE] = None
    """Absent in an index of an earlier version."""


_ADAPTER = TypeAdapter(FindingsIndex)


def summarize(findings: Iterable[Finding]) -> Summary:
    counts = Counter(finding.severity for finding in findings)
    by_level = {severity.value: counts[severity] for severity in Severity}
    return Summary(**by_level, total=sum(by_level.values()))


def index_document(index: FindingsIndex) -> dict[str, Any]:
    """The index as the JSON object that `index_to_json` writes."""
    return _ADAPTER.dump_python(index, mode="json", by_alias=True)


def index_to_json(index: FindingsIndex) -> bytes:
    return _ADAPTER.dump_json(index, by_alias=True) + b"\n"


def index_from_json(text: bytes, *, name: str = "the index") -> FindingsIndex:
    """Raises InputRefused when the text is no index of a known version."""
    try:
        return _lifted(text) if _is_version_1(text) else _ADAPTER.validate_json(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise InputRefused(
            f"{name} is not a findings index ({_problem(error)})",
            hint="give it the findings_index.json that --out wrote",
        ) from error


def index_json(text: bytes) -> dict[str, Any]:
    """The JSON object as it is stored, fields that we do not know included. Raises ValueError or TypeError."""
    data: object = json.loads(text)
    if not isinstance(data, dict):
        raise TypeError("it is no JSON object")
    return cast(dict[str, Any], data)  # keys of a JSON object are strings


def _is_version_1(text: bytes) -> bool:
    return index_json(text).get("version", "1.0") in ("1.0", 1)


def _problem(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deep"
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {first['msg']}" if where else first["msg"]


def _lifted(text: bytes) -> FindingsIndex:
    """A version 1 index in the shape of version 2."""
    old = IndexOfVersion1.model_validate_json(text)
    findings = tuple(lifted_findings(old))
    return FindingsIndex(
        version=INDEX_VERSION,
        index_id=old.index_id,
        rules_version=old.rules_version,
        instance_id=old.instance_id,
        indexed_at=old.indexed_at,
        manifest_ref=old.manifest_ref,
        indexing_duration_ms=old.indexing_duration_ms,
        coverage=cover(scanned_sizes=(), skipped=()),
        findings=findings,
        suppressed=(),
        summary=summarize(findings),
        clock=ClockNote(collected_at=None, collected_from="unknown", booted_at=None, booted_from="unknown"),
        gaps=("this index was lifted from version 1: it says neither what was scanned nor where bytes are",),
    )
