"""How many bundles of a cluster have shown a pattern. Seen often is not harmless: it is told, never hidden."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import cast

from affidavit.errors import UpstreamFailed
from affidavit.evidence.finding import Finding
from affidavit.evidence.severity import Severity
from affidavit.ports.clock import Clock
from affidavit.ports.json import Item
from affidavit.ports.table import (
    Absent,
    AnyOf,
    Condition,
    ConditionFailed,
    Equals,
    Key,
    Present,
    Put,
    Table,
    Update,
    Write,
)

KEPT = timedelta(days=30)
# More bundles than this, and the pattern is part of the cluster's background.
MANY = 10
# DynamoDB takes 100 writes in one transaction.
_TOGETHER = 80
_ATTEMPTS = 8
_PATTERN = "PATTERN#"


@dataclass(frozen=True, kw_only=True, slots=True)
class Baseline:
    pattern: str
    bundles: int
    first_seen: str
    last_seen: str


def baselines(state: Table, cluster: str) -> dict[str, Baseline]:
    """By pattern; one query."""
    found = (_baseline(item) for item in state.query(_partition(cluster), sk_prefix=_PATTERN))
    return {baseline.pattern: baseline for baseline in found}


def uncounted(cluster: str | None, known: Mapping[str, Baseline]) -> list[str]:
    """What a caller has to know who takes findings without a mark for new ones. Empty when there is nothing to say."""
    if cluster is None or known:
        return []
    return [
        f"no bundle of the cluster clusterContext names was counted in {KEPT.days} days: nothing is marked is_baseline"
    ]


def annotated(findings: Iterable[Finding], known: Mapping[str, Baseline]) -> list[Finding]:
    return [_annotated(finding, known.get(finding.pattern)) for finding in findings]


def count_bundle(state: Table, clock: Clock, *, cluster: str, bundle_id: str, patterns: Collection[str]) -> None:
    """Count each pattern once for this bundle, however often it is indexed or this is called.

    What was counted stands in the bundle's own item, which changes in the same transaction as the counts; a crash
    between two transactions leaves a rest that the next call counts.
    """
    for _ in range(_ATTEMPTS):
        item = state.get(_counted_key(cluster, bundle_id))
        counted = _counted(item)
        left = sorted(set(patterns) - set(counted))
        if not left:
            return
        try:
            _count(state, clock, cluster, bundle_id, counted, left)
            return
        except ConditionFailed:
            continue  # somebody else counts the same bundle, or the same pattern for the first time: look again
    raise UpstreamFailed(
        f"the patterns of bundle {bundle_id} could not be counted for cluster {cluster}: others kept changing them",
        hint="ingest the bundle again; what was counted stays counted once",
        is_retryable=True,
    )


def _count(
    state: Table, clock: Clock, cluster: str, bundle_id: str, counted: Sequence[str], left: Sequence[str]
) -> None:
    known = baselines(state, cluster)
    for at in range(0, len(left), _TOGETHER):
        chunk = left[at : at + _TOGETHER]
        state.write_all(
            [
                _claim(clock, cluster, bundle_id, [*counted, *left[:at]], chunk),
                *(_one_more(clock, cluster, pattern, is_new=pattern not in known) for pattern in chunk),
            ]
        )


def _claim(clock: Clock, cluster: str, bundle_id: str, counted: Sequence[str], chunk: Sequence[str]) -> Write:
    key = _counted_key(cluster, bundle_id)
    unchanged: Condition = Equals("version", len(counted))
    when = unchanged if counted else AnyOf((Absent(), unchanged))
    patterns = [*counted, *chunk]
    item = {"pk": key.pk, "sk": key.sk, "version": len(patterns), "patterns": patterns, "ttl": _ttl(clock)}
    return Put(item=item, when=when)


def _one_more(clock: Clock, cluster: str, pattern: str, *, is_new: bool) -> Write:
    now = clock.now().isoformat()
    first = {"first_seen": now, "pattern": pattern} if is_new else {}
    return Update(
        key=Key(pk=_partition(cluster), sk=f"{_PATTERN}{pattern}"),
        set={**first, "last_seen": now, "ttl": _ttl(clock)},
        add={"bundles": 1},
        when=Absent() if is_new else Present(),
    )


def _annotated(finding: Finding, baseline: Baseline | None) -> Finding:
    if baseline is None or baseline.bundles <= MANY:
        return finding
    seen = f"seen in {baseline.bundles} bundles of this cluster since {baseline.first_seen[:10]}"
    if finding.severity is Severity.CRITICAL:
        return replace(finding, is_baseline=False, baseline_note=f"{seen}, and critical all the same: not normal")
    return replace(
        finding, is_baseline=True, baseline_note=f"{seen}: part of its background, which is no proof of health"
    )


def _counted(item: Item | None) -> list[str]:
    return [str(pattern) for pattern in cast(Sequence[object], item["patterns"])] if item is not None else []


def _baseline(item: Item) -> Baseline:
    return Baseline(
        pattern=str(item["pattern"]),
        bundles=int(cast(int, item["bundles"])),
        first_seen=str(item["first_seen"]),
        last_seen=str(item["last_seen"]),
    )


def _ttl(clock: Clock) -> int:
    return int((clock.now() + KEPT).timestamp())


def _partition(cluster: str) -> str:
    return f"BASELINE#{cluster}"


def _counted_key(cluster: str, bundle_id: str) -> Key:
    return Key(pk=_partition(cluster), sk=f"BUNDLE#{bundle_id}")
