"""Copies of a log count once, and the trouble begins with what matters."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.support.archives.bundles import analyze_files
from tests.support.knowledge.packs import a_pack, a_rule

from affidavit.evidence.finding import Finding
from affidavit.evidence.finding_groups import began, distinct
from affidavit.evidence.severity import Severity
from affidavit.index.filtered import view

LINE = "Out of memory: Killed process 2211 (java)"
START = datetime(2026, 1, 15, 10, tzinfo=UTC)
COPIES = {
    "kernel/dmesg.current": f"[ 8123.551000] {LINE}\n",
    "kernel/dmesg.human.current": f"[Thu Jan 15 10:25:03 2026] {LINE}\n",
    "var_log/messages": f"Jan 15 10:25:03 ip-10-0-1-142 kernel: {LINE}\n",
}


def findings(folder: Path, files: dict[str, str]) -> tuple[Finding, ...]:
    pack = a_pack(a_rule("t.oom", "Out of memory", reads=("kernel",)))
    return analyze_files({path: text.encode() for path, text in files.items()}, pack, folder).index.findings


def test_copies_of_a_kernel_log_count_once_in_a_headline(tmp_path: Path) -> None:
    pack = a_pack(a_rule("t.oom", "Out of memory", reads=("kernel",)))
    files = {path: text.encode() for path, text in COPIES.items()}
    shown = view(analyze_files(files, pack, tmp_path).index)
    assert (shown.index.summary.total, shown.counts.total) == (3, 1)


def test_other_lines_of_the_same_rule_count_by_themselves(tmp_path: Path) -> None:
    other = {**COPIES, "var_log/messages": f"Jan 15 10:25:03 ip-10-0-1-142 kernel: {LINE.replace('2211', '77')}\n"}
    assert len(distinct(findings(tmp_path, other))) == 2


def test_a_trouble_begins_with_its_first_finding_of_medium_or_above(tmp_path: Path) -> None:
    (one, two, *_) = findings(tmp_path, COPIES)
    started = replace(one, severity=Severity.INFO, first_seen=START)
    failed = replace(two, severity=Severity.MEDIUM, first_seen=START + timedelta(days=3))
    assert began([started, failed]) == failed.first_seen
    assert began([started]) == START
    assert began([replace(started, first_seen=None)]) is None
