import pytest
from tests.support.knowledge.findings import a_finding

from affidavit.evidence.confidence import Level, confidence
from affidavit.evidence.coverage import Coverage, SkippedFile, SkipReason
from affidavit.evidence.finding import Confirmation, Finding


def coverage_of(percent: float) -> Coverage:
    skipped = (SkippedFile(file="kubelet/kubelet.log", reason=SkipReason.UNREADABLE, size_bytes=1),)
    return Coverage(
        files_scanned=9, total_files=10, coverage_pct=percent, bytes_scanned=9, total_bytes=10,
        skipped_files=skipped, skipped_total=1,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("percent", "findings", "level"),
    [(90.0, 1, Level.HIGH), (89.9, 1, Level.MEDIUM), (90.0, 0, Level.MEDIUM), (70.0, 0, Level.MEDIUM),
     (69.9, 0, Level.LOW), (0.0, 1, Level.MEDIUM), (0.0, 0, Level.LOW)],
)  # fmt: skip
def test_the_level_follows_coverage_and_findings(percent: float, findings: int, level: Level) -> None:
    assert confidence(coverage_of(percent), [a_finding()] * findings).level is level


def test_any_gap_lowers_the_level_by_one_and_is_named() -> None:
    answer = confidence(coverage_of(95.0), [a_finding()], gaps=["the redaction failed"])
    assert (answer.level, answer.gaps) == (Level.MEDIUM, ("the redaction failed",))
    assert confidence(coverage_of(50.0), [a_finding()], gaps=["x"]).level is Level.LOW


def test_thin_coverage_names_the_files() -> None:
    assert "kubelet/kubelet.log" in confidence(coverage_of(80.0), [a_finding()]).gaps[0]


def test_an_unconfirmed_critical_is_a_gap() -> None:
    def critical(confirmed: bool) -> Finding:
        return a_finding(confirmation=Confirmation(signals=1 + confirmed, confirmed=confirmed, sources=("kernel",)))

    assert confidence(coverage_of(95.0), [critical(True)]).level is Level.HIGH
    lowered = confidence(coverage_of(95.0), [critical(False)])
    assert lowered.level is Level.MEDIUM
    assert "rests on one source" in lowered.gaps[0]
