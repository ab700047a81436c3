"""One failed probe is noise; during an outage it is part of it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.support.archives.bundles import analyze_files
from tests.support.knowledge.packs import a_pack, a_rule

from affidavit.evidence.finding import FaultState
from affidavit.evidence.severity import Severity

COLLECTED = datetime(2026, 1, 15, 10, 30, tzinfo=UTC)
SAMPLES = {"fires": ["HICCUP"], "quiet": ["fine"]}


@pytest.mark.parametrize(
    ("broken_at", "how_bad", "severity"),
    [
        (900, "high", Severity.MEDIUM),
        (1300, "high", Severity.MEDIUM),
        (900, "medium", Severity.LOW),
        (9000, "high", Severity.LOW),
        (None, "high", Severity.LOW),
    ],
    ids=["during a fault", "minutes after its last line", "beside a lesser one", "long after it", "alone"],
)
def test_a_failure_counts_by_itself_only_while_something_else_is_broken(
    broken_at: int | None, how_bad: str, severity: Severity, tmp_path: Path
) -> None:
    repeated = {"times": 3, "within_seconds": 600, "otherwise": "low", "unless_beside_fault": True}
    mine = a_rule("t.hiccup", "HICCUP", severity="medium", repeated=repeated, samples=SAMPLES)
    other = a_rule("t.kaput", "KAPUT", severity=how_bad, lasts=True, samples={"fires": ["KAPUT"], "quiet": ["fine"]})
    events = sorted([(800, "HICCUP"), *([(broken_at, "KAPUT")] if broken_at else [])], reverse=True)
    lines = [f"{(COLLECTED - timedelta(seconds=ago)).isoformat()} {text}\n" for ago, text in events]
    text = "".join([*lines, f"{COLLECTED.isoformat()} quiet\n"]).encode()
    found = analyze_files({"var_log/a.log": text}, a_pack(mine, other), tmp_path).index.findings
    hiccup = next(each for each in found if each.rule == "t.hiccup")
    assert hiccup.severity is severity
    assert ("while this was broken" in (hiccup.severity_note or "")) == (severity is Severity.MEDIUM)


def test_a_failure_that_was_tried_again_and_worked_stays_low_beside_a_fault(tmp_path: Path) -> None:
    repeated = {"times": 2, "within_seconds": 600, "otherwise": "low", "unless_beside_fault": True}
    samples = {**SAMPLES, "clears": ["MENDED"]}
    mine = a_rule(
        "t.hiccup",
        "HICCUP",
        severity="medium",
        repeated=repeated,
        samples=samples,
        cleared_by=["MENDED"],
        cleared_for="pod",
    )
    other = a_rule("t.kaput", "KAPUT", severity="high", lasts=True, samples={"fires": ["KAPUT"], "quiet": ["fine"]})
    pod = 'pod="shop/cart-1"'
    events = [(900, "KAPUT"), (820, f"HICCUP {pod}"), (800, f"HICCUP {pod}"), (790, f"MENDED {pod}")]
    lines = [f"{(COLLECTED - timedelta(seconds=ago)).isoformat()} {text}\n" for ago, text in events]
    text = "".join([*lines, f"{COLLECTED.isoformat()} quiet\n"]).encode()
    found = analyze_files({"var_log/a.log": text}, a_pack(mine, other), tmp_path).index.findings
    hiccup = next(each for each in found if each.rule == "t.hiccup")
    assert (hiccup.severity, hiccup.state) == (Severity.LOW, FaultState.RECOVERED)
