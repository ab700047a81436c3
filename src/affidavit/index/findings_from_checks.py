"""Turns the result of a check into a finding, with the measured fact as its detail."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from affidavit.bundle.byte_range_reader import span_of
from affidavit.bundle.file_roles import component_of, role_of
from affidavit.checks.run_on_bundle import CheckEvidence, Hit
from affidavit.evidence.finding import ByteRange, Evidence, FaultState, Finding, LineRange, Occurrence, excerpt_of
from affidavit.evidence.node_verdict import Refutation
from affidavit.evidence.utf16 import text_of
from affidavit.rules.entities import SEARCHED, entity_patterns
from affidavit.verdict.conclude import Fact
from affidavit.verdict.refuting_facts import fact_id

# Lines that are read for the names in them.
NAMED_LINES = 8


def measured_finding(full_key: str, location: Path, shown: CheckEvidence) -> Finding:
    """Command output tells the state when the bundle was made and names no time, so none is claimed: it is open."""
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
        state=FaultState.OPEN,
        entities=entity_patterns().names(_lines(location, shown)),
    )


def measured_fact(full_key: str, location: Path, shown: CheckEvidence) -> Fact:
    lead = shown.hits[0]
    evidence = _evidence(full_key, location, shown.path, lead)
    return Fact(id=fact_id(shown.check), refutation=Refutation(says=lead.detail, evidence=evidence))


def _lines(location: Path, shown: CheckEvidence) -> Iterator[str]:
    for hit in shown.hits[:NAMED_LINES]:
        yield text_of(span_of(location, hit.start, min(hit.end, hit.start + SEARCHED)))


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
