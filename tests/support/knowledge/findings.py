"""Findings with every field filled in."""

import hashlib
from typing import Any

from affidavit.evidence.finding import ByteRange, Evidence, Finding, LineRange
from affidavit.evidence.severity import Severity


def an_evidence(content: bytes = b"KAPUT", **fields: Any) -> Evidence:
    values: dict[str, Any] = {
        "source_file": "kubelet/kubelet.log",
        "full_key": "eks_i-0123456789abcdef0/extracted/kubelet/kubelet.log",
        "excerpt": content.decode("utf-8", "replace")[:500],
        "line_range": LineRange(start=1, end=1),
        "byte_offset": ByteRange(start=0, end=len(content)),
        "timestamp": None,
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    return Evidence(**{**values, **fields})


def a_finding(**fields: Any) -> Finding:
    values: dict[str, Any] = {
        "finding_id": "F-001",
        "rule": "test.kaput",
        "severity": Severity.CRITICAL,
        "pattern": "Kaput",
        "description": "It is kaput.",
        "component": "kubelet",
        "signal": "test.signal",
        "count": 1,
        "first_seen": None,
        "last_seen": None,
        "evidence": an_evidence(),
    }
    return Finding(**{**values, **fields})
