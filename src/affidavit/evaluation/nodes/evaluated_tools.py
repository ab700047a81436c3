"""The tools that are evaluated: what each returns about a bundle, as findings and as one stable text.

A tool added here is measured on every bundle, and changes of its answers are noticed.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from affidavit.evidence.finding import Finding
from affidavit.index.findings_index import FindingsIndex, index_to_json
from affidavit.investigation import Analysis
from affidavit.nodes.correlation.correlate import Correlation, correlate

# Fields that depend on the run or on the whole rule pack. Everything else in an answer must stay the same.
_VOLATILE = ("indexedAt", "indexing_duration_ms", "index_id", "rules_version", "indexer_version", "bundle_digest")


@dataclass(frozen=True, kw_only=True)
class MeasuredAnswer:
    """`told` are the findings it rests on, `lines` a short form for a diff, `digest` covers all of it."""

    tool: str
    told: tuple[Finding, ...]
    lines: tuple[str, ...]
    digest: str
    latency_ms: float
    broken: Mapping[str, Sequence[str]] | None = None
    """By finding: what does not re-read from the bytes it was asked of; None: from those that were analyzed."""


@dataclass(frozen=True, kw_only=True)
class EvaluatedTool:
    """`is_complete`: the tool promises every finding, so recall and coverage mean something."""

    name: str
    is_complete: bool
    ask: Callable[[Analysis], MeasuredAnswer]


def analyze_answer(analysis: Analysis, latency_ms: float) -> MeasuredAnswer:
    index = analysis.index
    return MeasuredAnswer(
        tool="analyze",
        told=index.findings,
        lines=tuple(_line(finding) for finding in index.findings),
        digest=_digest(json.loads(index_to_json(index))),
        latency_ms=latency_ms,
    )


def _correlate(analysis: Analysis) -> MeasuredAnswer:
    started = time.perf_counter()
    answer = correlate(analysis.index)
    spent = (time.perf_counter() - started) * 1000
    return MeasuredAnswer(
        tool="correlate",
        told=_named(analysis.index, [event.finding_id for event in answer.timeline]),
        lines=tuple(
            f"{chain.cluster_id} {chain.confidence} {' -> '.join(chain.chain)}"
            for chain in answer.potential_root_cause_chains
        ),
        digest=_digest(TypeAdapter(Correlation).dump_python(answer, mode="json")),
        latency_ms=spent,
    )


TOOLS = (EvaluatedTool(name="correlate", is_complete=False, ask=_correlate),)
ANALYZE = "analyze"


def is_complete(name: str) -> bool:
    return name == ANALYZE or any(tool.name == name and tool.is_complete for tool in TOOLS)


def _line(finding: Finding) -> str:
    lines = finding.evidence.line_range
    place = f"{finding.evidence.source_file}:{lines.start if lines is not None else '?'}"
    state = f" {finding.state.value}" if finding.state is not None else ""
    return f"{finding.severity.value} {finding.rule} {place} x{finding.count}{state}"


def _named(index: FindingsIndex, ids: Sequence[str]) -> tuple[Finding, ...]:
    by_id = {finding.finding_id: finding for finding in index.findings}
    return tuple(by_id[finding_id] for finding_id in ids)


def _digest(value: Any) -> str:
    stable = {name: entry for name, entry in value.items() if name not in _VOLATILE}
    return hashlib.sha256(json.dumps(stable, sort_keys=True).encode()).hexdigest()
