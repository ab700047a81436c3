"""Builds the data of the page. What matters most goes in first, in case not everything fits.

Findings are rows under `COLUMNS`. Rules, files, components and notes are in tables of their own, so that ten thousand
findings fit a page that opens at once.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from affidavit.bundle.unpacked_bundle import StoredBundle
from affidavit.entrypoints.report.content import headline, health_warning, left_out_lines, notes
from affidavit.entrypoints.report.long_line_excerpts import QuotedLines
from affidavit.entrypoints.report.page.component_states import ComponentVerdict, component_verdicts
from affidavit.entrypoints.report.page.context_lines import (
    Context,
    ContextLine,
    context_of,
    is_longer_than_excerpt,
    without_secrets,
)
from affidavit.entrypoints.report.page.safe_data import Allowance
from affidavit.entrypoints.report.page.verdict_data import verdict_data
from affidavit.entrypoints.report.unread_files import is_cut_off, loss_line
from affidavit.errors import EvidenceUnavailable
from affidavit.evidence.finding import Finding, Suppressed
from affidavit.evidence.severity import Severity
from affidavit.index.filtered import View
from affidavit.investigation import Analysis
from affidavit.knowledge import Knowledge
from affidavit.nodes.correlation.causal_chains import PotentialChain
from affidavit.nodes.correlation.correlate import Correlation
from affidavit.nodes.correlation.timeline import Cluster
from affidavit.redaction.redact import Redactor

COLUMNS = (
    *("id", "severity", "rule", "component", "count", "first", "last"),
    *("file", "line", "start", "end", "sha256", "note"),
)
OCCURRENCES_SHOWN = 40
_SMALL = 150_000
_CLUSTERS = 400_000
_ROWS = 2_600_000
# Quoted lines come first, but some room is kept for the lines around findings.
_FOR_CONTEXT = 400_000


def page_data(
    view: View,
    analysis: Analysis,
    knowledge: Knowledge,
    correlation: Correlation,
    quoted: QuotedLines,
    allowance: Allowance,
    *,
    is_raw: bool = False,
) -> dict[str, Any]:
    index = view.index
    verdicts = component_verdicts(view, analysis)
    spans = {cluster.cluster_id: cluster for cluster in correlation.clusters}
    data: dict[str, Any] = {
        "head": _head(view, analysis),
        "severities": [severity.value for severity in Severity],
        "verdict": verdict_data(view.index.verdict),
        "verdicts": [_verdict(verdict) for verdict in verdicts],
        "correlation": {
            "level": correlation.confidence.level.value,
            "basis": correlation.confidence.basis,
            "caveat": correlation.caveat,
        },
        "coverage": _coverage(view),
        "columns": COLUMNS,
    }
    allowance.take(data)
    lists: dict[str, tuple[Iterable[Any], int]] = {
        "chains": ([_chain(chain, spans) for chain in correlation.potential_root_cause_chains], _SMALL),
        "gaps": (index.gaps, _SMALL),
        "suppressed": ([_suppressed(entry) for entry in index.suppressed], _SMALL),
        "clusters": ([_cluster(cluster) for cluster in correlation.clusters], _CLUSTERS),
    }
    left_out: dict[str, int] = {}
    for name, (values, at_most) in lists.items():
        entries = list(values)
        data[name] = allowance.fit(entries, at_most=at_most)
        left_out[name] = len(entries) - len(data[name])
    tables = _Tables(knowledge)
    rows = tables.rows(index.findings, allowance)
    told = index.findings[: len(rows)]
    excerpts = allowance.fit(_excerpts(told, analysis.bundle, quoted), at_most=allowance.left - _FOR_CONTEXT)
    details = _details(told, analysis.bundle, allowance, None if is_raw else Redactor())
    left_out |= {
        "findings": len(index.findings) - len(rows),
        "excerpts": len(rows) - len(excerpts),
        "contexts": len(rows) - len(details),
    }
    return {
        **data,
        "tables": tables.content,
        "findings": rows,
        "excerpts": excerpts,
        "details": details,
        "leftOut": left_out,
    }


@dataclass
class _Tables:
    """Texts that many findings share. Each is kept once and referred to by its position."""

    knowledge: Knowledge
    content: dict[str, list[Any]] = field(
        default_factory=lambda: {"rules": [], "components": [], "files": [], "notes": []}
    )
    _places: dict[tuple[str, ...], int] = field(default_factory=dict[tuple[str, ...], int])

    def rows(self, findings: Iterable[Finding], allowance: Allowance) -> list[list[Any]]:
        part = Allowance(min(_ROWS, allowance.left))
        before, rows = part.left, list[list[Any]]()
        known = {rule.id: rule for rule in self.knowledge.rules}
        for finding in findings:
            rule = known.get(finding.rule)
            means = rule.means if rule is not None else finding.description
            steps = rule.first_steps if rule is not None else ()
            shared: list[tuple[str, tuple[str, ...], Any]] = [
                (
                    "rules",
                    (finding.rule, finding.pattern, means),
                    {"id": finding.rule, "name": finding.pattern, "means": means, "steps": steps},
                ),
                ("components", (finding.component,), finding.component),
                ("files", (finding.evidence.source_file,), finding.evidence.source_file),
                ("notes", (_note(finding),), _note(finding)),
            ]
            places = [self._places.get((table, *key), len(self.content[table])) for table, key, _ in shared]
            new = [(table, key, entry) for (table, key, entry) in shared if (table, *key) not in self._places]
            row = _row(finding, *places)
            if not part.take([row, *(entry for _, _, entry in new)]):
                break
            for table, key, entry in new:
                self._places[(table, *key)] = len(self.content[table])
                self.content[table].append(entry)
            rows.append(row)
        allowance.left -= before - part.left
        return rows


def _row(finding: Finding, rule: int, component: int, file: int, note: int) -> list[Any]:
    evidence = finding.evidence
    span, lines = evidence.byte_offset, evidence.line_range
    return [
        *(finding.finding_id, finding.severity.rank, rule, component, finding.count),
        *(_moment(finding.first_seen), _moment(finding.last_seen)),
        *(file, lines.start if lines is not None else None),
        *((span.start, span.end) if span is not None else (None, None)),
        *(evidence.sha256, note),
    ]


def _note(finding: Finding) -> str:
    lines = (*notes(finding), finding.baseline_note or "")
    return " ".join(note for note in lines if note)


def _excerpts(findings: Iterable[Finding], bundle: StoredBundle, quoted: QuotedLines) -> Iterator[list[Any]]:
    for finding in findings:
        if (line := quoted.long.get(finding.finding_id)) is not None:
            yield [line.text, int(line.is_cut)]
            continue
        try:
            is_cut = is_longer_than_excerpt(finding.evidence, bundle)
        except EvidenceUnavailable:
            is_cut = False  # said with the lines around it
        yield [finding.evidence.excerpt, int(is_cut)]


def _details(
    findings: Iterable[Finding], bundle: StoredBundle, allowance: Allowance, redactor: Redactor | None
) -> list[dict[str, Any]]:
    """Further occurrences and the lines around, for as many findings as the page has room for."""
    details: list[dict[str, Any]] = []
    for finding in findings:
        occurrences = [
            [occurrence.line, _moment(occurrence.timestamp)]
            for occurrence in finding.additional_occurrences[:OCCURRENCES_SHOWN]
        ]
        detail: dict[str, Any] = {"also": occurrences} if occurrences else {}
        try:
            if (context := context_of(finding.evidence, bundle)) is not None:
                excerpt = finding.evidence.excerpt
                detail |= _context(context if redactor is None else without_secrets(context, excerpt, redactor))
        except EvidenceUnavailable as error:
            detail["unread"] = str(error)
        if not allowance.take(detail):
            break
        details.append(detail)
    return details


def _context(context: Context) -> dict[str, Any]:
    return {"before": [_line(line) for line in context.before], "after": [_line(line) for line in context.after]}


def _line(line: ContextLine) -> list[Any]:
    return [line.text, int(line.is_cut)]


def _head(view: View, analysis: Analysis) -> dict[str, Any]:
    index, manifest = view.index, analysis.manifest
    return {
        "instance": index.instance_id,
        "bundle": manifest.source_archive,
        "sha256": manifest.source_archive_sha256,
        "collected": _moment(index.clock.collected_at),
        "collectedFrom": index.clock.collected_from,
        "booted": _moment(index.clock.booted_at),
        "indexId": index.index_id,
        "rules": index.rules_version,
        "counts": [getattr(index.summary, severity.value) for severity in Severity],
        "notShown": left_out_lines(view),
        "incomplete": loss_line(manifest, index.coverage),
        "headline": headline(view) if view.hidden.total else "",
        "nothing": health_warning(view),
    }


def _verdict(verdict: ComponentVerdict) -> dict[str, Any]:
    return {
        "component": verdict.component,
        "state": verdict.state.value,
        "text": verdict.text,
        "findings": verdict.findings,
        "worst": verdict.worst.rank if verdict.worst is not None else None,
        "span": [_moment(end) for end in verdict.span] if verdict.span is not None else None,
    }


def _chain(chain: PotentialChain, clusters: dict[str, Cluster]) -> dict[str, Any]:
    cluster = clusters.get(chain.cluster_id)
    return {
        "steps": [list(step) for step in zip(chain.chain, chain.finding_ids, strict=True)],
        "confidence": chain.confidence.value,
        "cluster": chain.cluster_id,
        "span": [_moment(cluster.start_time), _moment(cluster.end_time)] if cluster is not None else None,
    }


def _cluster(cluster: Cluster) -> list[Any]:
    return [
        *(cluster.cluster_id, _moment(cluster.start_time), _moment(cluster.end_time)),
        *(cluster.event_count, cluster.dominant_severity.rank),
    ]


def _coverage(view: View) -> dict[str, Any]:
    coverage = view.index.coverage
    return {
        "scanned": coverage.files_scanned,
        "total": coverage.total_files,
        "pct": coverage.coverage_pct,
        "isCutOff": is_cut_off(coverage),
        "bytes": coverage.bytes_scanned,
        "totalBytes": coverage.total_bytes,
        "skipped": [[entry.file, entry.reason.value, entry.size_bytes] for entry in coverage.skipped_files],
        "skippedTotal": coverage.skipped_total,
    }


def _suppressed(entry: Suppressed) -> dict[str, Any]:
    lines = entry.evidence.line_range
    return {
        "name": entry.pattern,
        "count": entry.count,
        "by": entry.suppression,
        "reason": entry.reason,
        "span": [_moment(entry.first_seen), _moment(entry.last_seen)],
        "file": entry.evidence.source_file,
        "line": lines.start if lines is not None else None,
        "excerpt": entry.evidence.excerpt,
    }


def _moment(value: datetime | None) -> int | None:
    return round(value.timestamp() * 1000) if value is not None else None
