"""Checks the samples of the causal graph: findings at given minutes, and which conditions must lead."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache

from affidavit.errors import InputRefused
from affidavit.evidence.confidence import Confidence, Level
from affidavit.evidence.finding import Evidence, FaultState, Finding, LineRange, NamedEntity
from affidavit.knowledge import Knowledge, load_knowledge
from affidavit.rules.passed_sample_checks import once
from affidavit.verdict.causal_graph import CausalGraph, load_graph
from affidavit.verdict.conclude import VerdictInput, conclude
from affidavit.verdict.node_condition import Condition, GraphSample

_SEEN = re.compile(r"([a-z0-9.-]+)(?: \+(\d+))?(?: ([a-z]+)=(\S+))?")
_START = datetime(2026, 1, 15, 10, tzinfo=UTC)
_COLLECTED = timedelta(hours=3)


def check_graph(graph: CausalGraph, knowledge: Knowledge | None = None) -> None:
    """Raises InputRefused for a sign that no rule has, or a sample that leads with something else."""
    known = knowledge or load_knowledge()
    names = {name for rule in known.rules for name in (rule.id, rule.signal)}
    for condition in graph.conditions.values():
        if lost := sorted((condition.signs | condition.witnesses) - names):
            raise InputRefused(
                f"{condition.id} is said to be shown by {', '.join(lost)}; there is no such rule or signal"
            )
        for sample in condition.samples:
            _hold(condition, sample, graph, known)


def _hold(condition: Condition, sample: GraphSample, graph: CausalGraph, knowledge: Knowledge) -> None:
    findings = list(sample_findings(sample, knowledge))
    evidence = VerdictInput(
        findings=findings,
        files=(),
        collected_at=_START + _COLLECTED,
        booted_at=_START - timedelta(days=1),
        confidence=Confidence(level=Level.HIGH, basis="a sample", gaps=()),
    )
    names = {each.name: each.id for each in graph.conditions.values()}
    told = tuple(names[cause.cause] for cause in conclude(evidence, graph).root_causes)
    if told != sample.leads:
        raise InputRefused(
            f"{condition.id}: of {', '.join(sample.seen)} the causes are {', '.join(told) or 'none'}, "
            f"not {', '.join(sample.leads) or 'none'}"
        )


def sample_findings(sample: GraphSample, knowledge: Knowledge) -> Iterator[Finding]:
    for number, entry in enumerate(sample.seen, 1):
        match = _SEEN.fullmatch(entry)
        if match is None:
            raise InputRefused(
                f"{entry!r} is no finding of a sample",
                hint="write `rule`, `rule +minutes` or `rule +minutes kind=name`",
            )
        names = (NamedEntity(kind=match[3], name=match[4]),) if match[3] else ()
        yield _finding(number, match[1], match[2], names, knowledge)


def _finding(
    number: int, rule_id: str, minutes: str | None, names: tuple[NamedEntity, ...], knowledge: Knowledge
) -> Finding:
    rule = knowledge.rule(rule_id)
    moment = _START + timedelta(minutes=int(minutes)) if minutes is not None else None
    component = rule_id.partition(".")[0]
    path = f"{component}/{component}.log"
    return Finding(
        finding_id=f"F-{number:03d}",
        rule=rule.id,
        severity=rule.severity,
        pattern=rule.name,
        description=rule.means,
        component=component,
        signal=rule.signal,
        count=3,
        first_seen=moment,
        last_seen=_START + _COLLECTED if moment is not None else None,
        evidence=Evidence(
            source_file=path,
            full_key=path,
            excerpt="",
            line_range=LineRange(start=number, end=number),
            byte_offset=None,
            timestamp=moment,
            sha256=None,
        ),
        detail="measured" if moment is None else None,
        state=FaultState.OPEN,
        entities=names,
    )


@cache
def known_graph() -> CausalGraph:
    """The built-in graph. Its signs and samples are checked once for the same data and code."""
    graph = load_graph()
    version = "\n".join(condition.model_dump_json() for condition in graph.conditions.values())
    once("graph", (version, load_knowledge().version), lambda: check_graph(graph))
    return graph
