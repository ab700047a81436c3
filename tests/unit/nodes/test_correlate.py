"""What happened together, and what may have caused what."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from tests.support.knowledge.findings import a_finding

from affidavit.errors import InputRefused
from affidavit.evidence.confidence import Level
from affidavit.evidence.coverage import cover
from affidavit.evidence.finding import Finding
from affidavit.evidence.severity import Severity
from affidavit.index.findings_index import ClockNote, FindingsIndex, summarize
from affidavit.knowledge import load_knowledge
from affidavit.nodes.correlation.causal_chains import known_chains
from affidavit.nodes.correlation.correlate import correlate

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)


def at(seconds: float | None, signal: str, **fields: object) -> Finding:
    seen = None if seconds is None else NOON + timedelta(seconds=seconds)
    return a_finding(**{"signal": signal, "first_seen": seen, "last_seen": seen, "severity": Severity.HIGH, **fields})


def index_of(findings: Sequence[Finding], *, gaps: tuple[str, ...] = ()) -> FindingsIndex:
    numbered = tuple(replace(finding, finding_id=f"F-{n:03d}") for n, finding in enumerate(findings, 1))
    return FindingsIndex(
        version="2.0",
        index_id="ix-test",
        rules_version="test",
        instance_id="i-0123456789abcdef0",
        indexed_at=NOON,
        manifest_ref="eks_i-0123456789abcdef0/manifest.json",
        indexing_duration_ms=1,
        coverage=cover(scanned_sizes=[1] * 10, skipped=[]),
        findings=numbered,
        suppressed=(),
        summary=summarize(numbered),
        clock=ClockNote(collected_at=NOON, collected_from="test", booted_at=None, booted_from="unknown"),
        gaps=gaps,
    )


CHAIN = ("network.ip-exhaustion", "network.cni", "workload.sandbox")


def test_the_timeline_is_in_time_order_and_counts_what_it_cannot_place() -> None:
    answer = correlate(index_of([at(50, "a.b"), at(10, "a.b"), at(None, "a.b")]))
    assert [event.finding_id for event in answer.timeline] == ["F-002", "F-001"]
    assert "1 findings have no time and are on no timeline" in answer.confidence.gaps
    assert answer.confidence.level is Level.MEDIUM


def test_a_gap_longer_than_the_window_starts_a_new_cluster() -> None:
    answer = correlate(index_of([at(0, "a.b"), at(60, "a.b"), at(121, "a.b", severity=Severity.CRITICAL)]))
    assert [(c.cluster_id, c.events, c.dominant_severity) for c in answer.clusters] == [
        ("C-001", ("F-001", "F-002"), Severity.HIGH),
        ("C-002", ("F-003",), Severity.CRITICAL),
    ]
    assert len(correlate(index_of([at(0, "a.b"), at(60, "a.b")]), window=timedelta(seconds=59)).clusters) == 2


def test_a_cluster_may_last_longer_than_the_window_while_no_gap_does() -> None:
    answer = correlate(index_of([at(seconds, "a.b") for seconds in (0, 60, 120, 180)]))
    assert [cluster.events for cluster in answer.clusters] == [("F-001", "F-002", "F-003", "F-004")]


@pytest.mark.parametrize(
    ("order", "steps", "level"),
    [((0, 1, 2), 3, Level.HIGH), ((0, 1), 2, Level.MEDIUM), ((2, 1, 0), 3, Level.LOW), ((1, 2), 2, Level.MEDIUM)],
)
def test_a_chain_is_as_sure_as_it_is_whole_and_in_order(order: tuple[int, ...], steps: int, level: Level) -> None:
    findings = [at(10 * place, CHAIN[step]) for place, step in enumerate(order)]
    answer = correlate(index_of(findings))
    chains = answer.potential_root_cause_chains
    found = next(chain for chain in chains if len(chain.chain) == steps and chain.confidence is level)
    assert (len(found.chain), found.confidence, found.cluster_id) == (steps, level, "C-001")
    assert set(found.finding_ids) == {f"F-{n:03d}" for n in range(1, steps + 1)}


def test_chains_that_differ_in_a_step_nobody_saw_are_told_once() -> None:
    """Addresses run out before the CNI is not ready, or after an interface could not be attached: neither was seen."""
    seen = [at(0, "network.ip-exhaustion"), at(5, "workload.sandbox"), at(8, "node.ready"), at(9, "kernel.hang")]
    chains = correlate(index_of(seen)).potential_root_cause_chains
    told = [(chain.chain, chain.finding_ids) for chain in chains]
    assert told.count((("IP exhaustion", "pod scheduling failure"), ("F-001", "F-002"))) == 1
    assert len(told) == len(set(told)) > 1
    levels = [list(Level).index(chain.confidence) for chain in chains]
    assert levels == sorted(levels)


def test_steps_in_different_clusters_are_no_chain() -> None:
    findings = [at(0, CHAIN[0]), at(1000, CHAIN[1]), at(2000, CHAIN[2])]
    assert correlate(index_of(findings)).potential_root_cause_chains == ()


def test_one_finding_cannot_be_two_steps() -> None:
    assert correlate(index_of([at(0, "network.cni")])).potential_root_cause_chains == ()


def test_components_that_tell_the_same_are_named_together() -> None:
    findings = [at(0, "memory.oom", component="kernel"), at(5, "memory.oom", component="kubelet"), at(6, "a.b")]
    (shared,) = correlate(index_of(findings)).correlations
    assert (shared.signal, shared.sources, shared.finding_ids) == (
        "memory.oom",
        ("kernel", "kubelet"),
        ("F-001", "F-002"),
    )


def test_a_pivot_keeps_its_cluster_and_an_unknown_one_is_refused() -> None:
    index = index_of([at(0, "a.b"), at(500, "c.d"), at(510, "c.d")])
    answer = correlate(index, pivot="F-003")
    assert [event.finding_id for event in answer.timeline] == ["F-002", "F-003"]
    with pytest.raises(InputRefused, match="F-099 is on no timeline"):
        correlate(index, pivot="F-099")


def test_only_asked_components_are_looked_at() -> None:
    index = index_of([at(0, "a.b", component="kernel"), at(1, "a.b", component="kubelet")])
    assert [event.source for event in correlate(index, components={"kernel"}).timeline] == ["kernel"]


def test_the_indexs_gaps_lower_the_confidence() -> None:
    assert correlate(index_of([at(0, "a.b")])).confidence.level is Level.HIGH
    assert correlate(index_of([at(0, "a.b")], gaps=("the archive ends early",))).confidence.level is Level.MEDIUM


def test_chains_name_only_signals_and_rules_that_exist() -> None:
    knowledge = load_knowledge()
    signals, ids = {rule.signal for rule in knowledge.rules}, {rule.id for rule in knowledge.rules}
    for chain in known_chains():
        for step in chain.steps:
            assert set(step.signals) <= signals, (chain.id, step.signals)
            assert set(step.rules) <= ids, (chain.id, step.rules)
            assert step.signals or step.rules
