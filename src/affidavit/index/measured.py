"""What a check shows, as a finding: the same evidence as a rule's, with the measured fact beside it."""

import hashlib
from pathlib import Path

from affidavit.bundle.layout import component_of, role_of
from affidavit.bundle.reading import span_of
from affidavit.checks.run import Hit, ShownBy
from affidavit.evidence.finding import ByteRange, Evidence, Finding, LineRange, Occurrence, excerpt_of


def measured_finding(full_key: str, location: Path, shown: ShownBy) -> Finding:
    """Command output tells the state when the bundle was made and names no time, so none is claimed."""
    check, lead = shown.check, shown.hits[0]
    is_cut = len(shown.hits) < shown.count
    return Finding(
        finding_id="",
        rule=check.id,
        severity=check.severity,
        pattern=check.name,
        description=check.means,
        component=component_of(b"", role_of(shown.path)),
        signal=check.signal,
        count=shown.count,
        first_seen=None,
        last_seen=None,
        evidence=_evidence(full_key, location, shown.path, lead),
        additional_occurrences=tuple(
            Occurrence(line=hit.line, byte_offset=ByteRange(start=hit.start, end=hit.end), timestamp=None)
            for hit in shown.hits[1:]
        ),
        occurrences_listed=len(shown.hits) if is_cut else None,
        occurrences_total=shown.count if is_cut else None,
        detail=lead.detail,
    )


def _evidence(full_key: str, location: Path, path: str, hit: Hit) -> Evidence:
    line = span_of(location, hit.start, hit.end)
    return Evidence(
        source_file=path,
        full_key=full_key,
        excerpt=excerpt_of(line),
        line_range=LineRange(start=hit.line, end=hit.line),
        byte_offset=ByteRange(start=hit.start, end=hit.end),
        timestamp=None,
        sha256=hashlib.sha256(line).hexdigest(),
    )
