"""The findings index: the record, and reading and writing it. Version 1 is read, only version 2 is written."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, cast

from pydantic import Field, TypeAdapter, ValidationError

from affidavit.errors import InputRefused
from affidavit.evidence.coverage import Coverage
from affidavit.evidence.finding import EXCERPT_CHARACTERS, Finding, Suppressed
from affidavit.evidence.severity import FROM_V1, Severity

INDEX_VERSION = "2.0"
# Raise it whenever the same bundle and rules would give another index.
INDEXER_VERSION = "3"


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


_ADAPTER = TypeAdapter(FindingsIndex)


def summarize(findings: Iterable[Finding]) -> Summary:
    counts = Counter(finding.severity for finding in findings)
    by_level = {severity.value: counts[severity] for severity in Severity}
    return Summary(**by_level, total=sum(by_level.values()))


def index_to_json(index: FindingsIndex) -> bytes:
    return _ADAPTER.dump_json(index, by_alias=True) + b"\n"


def index_from_json(text: bytes, *, name: str = "the index") -> FindingsIndex:
    """Raises InputRefused when the text is no index of a known version."""
    try:
        if _is_version_1(text):
            return _ADAPTER.validate_python(_lifted(json.loads(text)))
        return _ADAPTER.validate_json(text)
    except (ValidationError, json.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        problem = str(error).splitlines()[0]
        raise InputRefused(
            f"{name} is not a findings index ({problem})",
            hint="give it the findings_index.json that --out wrote",
        ) from error


def _is_version_1(text: bytes) -> bool:
    data = json.loads(text)
    if not isinstance(data, dict):
        raise TypeError("not an object")
    return cast(dict[str, Any], data).get("version", "1.0") in ("1.0", 1, 1.0)


def _lifted(old: dict[str, Any]) -> dict[str, Any]:
    """A version 1 index in the shape of version 2. It knew no bytes or digests: those are null."""
    findings = [_lifted_finding(number, finding) for number, finding in enumerate(old["findings"], 1)]
    counts = Counter(str(finding["severity"]) for finding in findings)
    empty_coverage = dict.fromkeys(("files_scanned", "total_files", "bytes_scanned", "total_bytes", "skipped_total"), 0)
    return {
        "version": INDEX_VERSION,
        "index_id": old.get("index_id", "v1"),
        "rules_version": old.get("rules_version", "v1"),
        "instanceId": old.get("instanceId", "unknown"),
        "indexedAt": old.get("indexedAt", "1970-01-01T00:00:00Z"),
        "manifest_ref": old.get("manifest_ref", ""),
        "indexing_duration_ms": old.get("indexing_duration_ms", 0),
        "coverage": {**empty_coverage, "coverage_pct": 0.0, "skipped_files": []},
        "findings": findings,
        "suppressed": [],
        "summary": {**{level.value: counts[level.value] for level in Severity}, "total": len(findings)},
        "clock": {
            "collected_at": None,
            "collected_from": "unknown",
            "booted_at": None,
            "booted_from": "unknown",
        },
        "gaps": ["this index was lifted from version 1: it says neither what was scanned nor where bytes are"],
    }


def _lifted_finding(number: int, old: Mapping[str, Any]) -> dict[str, Any]:
    lines = _line_numbers(old.get("lines"))
    source = str(old["file"])
    severity = FROM_V1.get(str(old["severity"]).lower())
    if severity is None:
        raise ValueError(f"severity {old['severity']!r} is not one of version 1")
    return {
        "finding_id": old.get("finding_id") or f"F-{number:03d}",
        "rule": old.get("rule", "unknown"),
        "severity": severity.value,
        "pattern": old["pattern"],
        "description": old.get("description", ""),
        "component": "unknown",
        "signal": "unknown",
        "count": old.get("count", max(1, len(lines))),
        "first_seen": None,
        "last_seen": None,
        "evidence": {
            "source_file": source,
            "full_key": old.get("full_key", source),
            "excerpt": str(old.get("sample", ""))[:EXCERPT_CHARACTERS],
            "line_range": {"start": lines[0], "end": lines[0]} if lines else None,
            "byte_offset": None,
            "timestamp": None,
            "sha256": None,
        },
        "additional_occurrences": [{"line": line, "byte_offset": None, "timestamp": None} for line in lines[1:]],
    }


def _line_numbers(lines: object) -> list[int]:
    if lines is None:
        return []
    if isinstance(lines, list):
        return [int(line) for line in cast(list[Any], lines)]
    return [int(cast(Any, lines))]
