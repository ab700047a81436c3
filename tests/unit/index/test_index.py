"""From hits to an index: folding, order, confirmation, identity, coverage, and reading old indexes."""

import json
import os
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.support.archives.bundles import NAME, analyze_at, analyze_files, file_member, make_tar, write_form
from tests.support.knowledge.packs import a_pack, a_rule

from affidavit.bundle.manifest import FileStatus
from affidavit.errors import InputRefused
from affidavit.evidence.finding import LISTED
from affidavit.evidence.severity import Severity
from affidavit.index.filtered import TimeWindow, view
from affidavit.index.findings_index import FindingsIndex, index_from_json, index_to_json
from affidavit.index.scanning.crew import Crew
from affidavit.index.scanning.rule_matching import RuleSlots
from affidavit.rules.pack import RulePack

OOM = a_pack(
    a_rule("kernel.oom", "invoked oom-killer", reads=["kernel"], severity="critical", signal="memory.oom"),
    a_rule("kubelet.oom", "OOMKilled", reads=["kubelet"], signal="memory.oom"),
)
PROCSTAT = {"system/procstat.txt": b"btime 1768032000\n"}
DMESG = b"[  100.000000] java invoked oom-killer\n"
SYSLOG = b"Jan 10 08:01:40 ip-10-0-1-23 kernel: java invoked oom-killer\n"
KUBELET = b"Jan 10 08:01:41 ip-10-0-1-23 kubelet[1]: reason=OOMKilled\n"


def index_of(files: dict[str, bytes], folder: Path, pack: RulePack = OOM, *, form: str = "tar.gz") -> FindingsIndex:
    return analyze_files(files, pack, folder, form=form).index


def stable(index: FindingsIndex) -> dict[str, object]:
    """The index as written, less the two fields that may differ between runs."""
    data = json.loads(index_to_json(index))
    del data["indexedAt"], data["indexing_duration_ms"]
    return data


def test_a_critical_seen_only_in_dmesg_and_its_syslog_copy_is_not_confirmed(tmp_path: Path) -> None:
    index = index_of({"kernel/dmesg.current": DMESG, "var_log/messages": SYSLOG, **PROCSTAT}, tmp_path)
    assert len(index.findings) == 2
    for finding in index.findings:
        assert finding.confirmation is not None
        assert (finding.confirmation.confirmed, finding.confirmation.sources) == (False, ("kernel",))
        assert finding.severity_note is not None and "one source" in finding.severity_note


def test_kernel_and_kubelet_confirm_each_other(tmp_path: Path) -> None:
    index = index_of({"kernel/dmesg.current": DMESG, "kubelet/kubelet.log": KUBELET}, tmp_path)
    critical = index.findings[0]
    assert critical.confirmation is not None
    assert (critical.confirmation.signals, critical.confirmation.confirmed) == (2, True)
    assert critical.confirmation.sources == ("kernel", "kubelet")
    assert critical.severity_note is None
    assert index.findings[1].confirmation is None


def test_a_kubelet_line_in_messages_is_the_kubelets_word_not_a_third_source(tmp_path: Path) -> None:
    index = index_of({"var_log/messages": KUBELET + SYSLOG, "kubelet/kubelet.log": KUBELET}, tmp_path)
    assert {finding.component for finding in index.findings} == {"kernel", "kubelet"}
    assert index.findings[0].confirmation is not None
    assert index.findings[0].confirmation.signals == 2


def test_a_rule_reads_only_lines_of_its_own_component(tmp_path: Path) -> None:
    quoted = b"Jan 10 08:01:40 ip-10-0-1-23 app[7]: the runbook says: java invoked oom-killer\n"
    index = index_of({"var_log/messages": quoted, "kubelet/kubelet.log": b"invoked oom-killer\n"}, tmp_path)
    assert index.findings == ()


def test_flags_in_command_output_and_config_are_no_findings(tmp_path: Path) -> None:
    files = {
        "kubelet/kubelet_service.txt": b"ExecStart=/usr/bin/kubelet --note=OOMKilled\n",
        "kubelet/config.json": b'{"note": "OOMKilled"}\n',
        "kubelet/kubelet.log": b"fine\n",
    }
    index = index_of(files, tmp_path)
    assert index.findings == ()
    assert [(skip.file, skip.reason) for skip in index.coverage.skipped_files] == [
        ("kubelet/config.json", "config_file")
    ]


def test_findings_are_ordered_by_severity_then_time_then_file_then_line(tmp_path: Path) -> None:
    pack = a_pack(
        a_rule("t.low", "LOW", severity="low"),
        a_rule("t.high", "HIGH", severity="high"),
        a_rule("t.untimed", "UNTIMED", severity="high"),
    )
    files = {
        "var_log/b.log": b"2026-01-15T10:00:02Z HIGH\n",
        "var_log/a.log": b"2026-01-15T10:00:03Z HIGH\n2026-01-15T10:00:01Z LOW\nUNTIMED\n",
    }
    index = index_of(files, tmp_path, pack)
    assert [(f.finding_id, f.rule, f.evidence.source_file) for f in index.findings] == [
        ("F-001", "t.high", "var_log/b.log"),
        ("F-002", "t.high", "var_log/a.log"),
        ("F-003", "t.untimed", "var_log/a.log"),
        ("F-004", "t.low", "var_log/a.log"),
    ]
    assert any("var_log/a.log: 1 matching" in gap for gap in index.gaps)


def test_first_and_last_seen_span_all_occurrences_across_the_year(tmp_path: Path) -> None:
    lines = b"Jan 10 00:00:05 h x: KAPUT\nDec 28 23:00:00 h x: KAPUT\nJan  2 00:00:05 h x: KAPUT\n"
    index = index_of({"var_log/a.log": lines}, tmp_path, a_pack(a_rule("t.kaput", "KAPUT")))
    (finding,) = index.findings
    assert finding.first_seen == datetime(2025, 12, 28, 23, tzinfo=UTC)
    assert finding.last_seen == datetime(2026, 1, 10, 0, 0, 5, tzinfo=UTC)
    assert finding.evidence.timestamp == datetime(2026, 1, 10, 0, 0, 5, tzinfo=UTC)


def test_dmesg_without_a_boot_time_has_no_time_and_says_so(tmp_path: Path) -> None:
    index = index_of({"kernel/dmesg.current": DMESG}, tmp_path)
    assert index.findings[0].first_seen is None
    assert any("when the node booted" in gap for gap in index.gaps)
    anchored = index_of({"kernel/dmesg.current": DMESG, **PROCSTAT}, tmp_path / "anchored")
    assert anchored.findings[0].first_seen == datetime(2026, 1, 10, 8, 1, 40, tzinfo=UTC)


def test_counts_are_exact_and_the_list_says_when_it_is_cut(tmp_path: Path) -> None:
    content = b"KAPUT\n" * 5000
    (finding,) = index_of({"var_log/a.log": content}, tmp_path, a_pack(a_rule("t.kaput", "KAPUT"))).findings
    assert (finding.count, len(finding.additional_occurrences)) == (5000, LISTED)
    assert (finding.occurrences_listed, finding.occurrences_total) == (LISTED + 1, 5000)


FILES = {
    "kernel/dmesg.current": DMESG * 3,
    "kubelet/kubelet.log": KUBELET * 2 + b"odd \xff bytes \x00\r\n" + KUBELET,
    "var_log/messages": SYSLOG,
    "kubelet/config.json": b"{}",
    "var_log/empty.log": b"",
    **PROCSTAT,
}


@pytest.mark.parametrize("form", ["tar", "zip", "directory"])
def test_the_archive_form_changes_nothing(tmp_path: Path, form: str) -> None:
    assert stable(index_of(FILES, tmp_path / "a")) == stable(index_of(FILES, tmp_path / "b", form=form))


@pytest.mark.parametrize("workers", [1, 3, 8])
def test_the_number_of_workers_changes_nothing(tmp_path: Path, workers: int) -> None:
    one = analyze_files(FILES, OOM, tmp_path / "a", workers=2).index
    other = analyze_files(FILES, OOM, tmp_path / "b", workers=workers).index
    assert stable(one) == stable(other)


def test_member_order_changes_nothing(tmp_path: Path) -> None:
    turned = dict(reversed(FILES.items()))
    assert stable(index_of(FILES, tmp_path / "a")) == stable(index_of(turned, tmp_path / "b"))


def test_another_byte_or_another_rule_is_another_index(tmp_path: Path) -> None:
    same = index_of(FILES, tmp_path / "a").index_id
    assert same == index_of(FILES, tmp_path / "b").index_id
    changed = {**FILES, "kubelet/config.json": b"{ }"}
    assert same != index_of(changed, tmp_path / "c").index_id
    more = a_pack(*OOM.rules, a_rule("t.more", "MORE"))
    assert same != index_of(FILES, tmp_path / "d", more).index_id


def test_an_index_reads_back_as_it_was_written(tmp_path: Path) -> None:
    index = index_of(FILES, tmp_path)
    assert index_from_json(index_to_json(index)) == index
    data = json.loads(index_to_json(index))
    assert data["version"] == "2.0"
    assert data["instanceId"] == "i-0123456789abcdef0"
    assert data["summary"] == {"critical": 2, "high": 1, "medium": 0, "low": 0, "info": 0, "total": 3}
    assert "confirmation" not in data["findings"][2]
    assert "first_seen" in data["findings"][2]


def test_a_version_1_index_is_read_as_version_2() -> None:
    old = {
        "instanceId": "i-0123456789abcdef0",
        "findings": [
            {"severity": "warning", "pattern": "x", "file": "a.log", "sample": "s" * 900, "lines": [7, 9], "count": 2},
            {"severity": "critical", "pattern": "y", "file": "b.log", "sample": "t", "lines": 3},
        ],
    }
    index = index_from_json(json.dumps(old).encode())
    assert [finding.severity for finding in index.findings] == [Severity.MEDIUM, Severity.CRITICAL]
    first = index.findings[0]
    assert (first.finding_id, first.evidence.source_file, len(first.evidence.excerpt)) == ("F-001", "a.log", 500)
    assert first.evidence.line_range is not None and first.evidence.line_range.start == 7
    assert [occurrence.line for occurrence in first.additional_occurrences] == [9]
    assert json.loads(index_to_json(index))["version"] == "2.0"


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{}", b'{"version": "9.0"}', b'{"version": "2.0", "findings": []}', b"\xff"]
)
def test_something_else_is_refused_as_an_index(text: bytes) -> None:
    with pytest.raises(InputRefused, match="not a findings index"):
        index_from_json(text)


def test_a_member_that_ends_early_is_scanned_as_far_as_it_goes_and_never_looks_complete(tmp_path: Path) -> None:
    path = make_tar(
        tmp_path / f"{NAME}.tar",
        [file_member("var_log/a.log", b"fine\n"), file_member("kubelet/kubelet.log", KUBELET * 1000)],
        mode="w",
    )
    path.write_bytes(path.read_bytes()[: 512 * 3 + 20_000])
    analysis = analyze_at(path, OOM, tmp_path / "work")
    (finding,) = analysis.index.findings
    assert finding.count == 20_000 // len(KUBELET)
    failed = [file for file in analysis.manifest.expected_files if file.status is FileStatus.FAILED]
    assert [file.relative_path for file in failed] == ["kubelet/kubelet.log"]
    assert analysis.index.coverage.coverage_pct < 100
    assert any("kubelet/kubelet.log" in gap for gap in analysis.index.gaps)


DYING = """
import sys
from pathlib import Path
from affidavit.index.scanning.crew import Crew
from affidavit.index.scanning.rule_matching import RuleSlots
from affidavit.rules.pack import load_pack
with Crew(RuleSlots(load_pack()), 1) as crew:
    crew._workers[0]._runner.kill()
    crew._workers[0]._runner.join()
    crew.finished("var_log/a.log", Path(sys.argv[1]), 6, "var_log/a.log")
    crew.results()
"""


def test_a_worker_that_dies_fails_the_scan(tmp_path: Path) -> None:
    """In a process without other threads, where a worker is a process too."""
    log = tmp_path / "a.log"
    log.write_bytes(b"KAPUT\n")
    done = subprocess.run([sys.executable, "-c", DYING, log], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "InvariantBroken: a scanning process ended before its work was done" in done.stderr


def test_a_file_that_shrinks_under_the_scan_is_unreadable_not_clean(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"KAPUT\n")
    with Crew(RuleSlots(a_pack(a_rule("t.kaput", "KAPUT"))), 1) as crew:
        crew.finished("var_log/a.log", log, 6000, "var_log/a.log")
        assert "ended at byte 6" in crew.results()["var_log/a.log"].failure


def test_a_file_that_is_refused_while_it_grows_is_not_left_open(tmp_path: Path) -> None:
    """In a server, where a scan is a thread: what is left open there, and the disk under it, stays lost."""
    log = tmp_path / "a.log"
    log.write_bytes(b"fine\n" * 1_000_000)
    another, slots = threading.Event(), RuleSlots(a_pack(a_rule("t.kaput", "KAPUT")))
    threading.Thread(target=another.wait, daemon=True).start()
    try:
        with Crew(slots, 1) as crew:
            crew.grown("var_log/a.log", log, log.stat().st_size, "var_log/a.log")
            assert crew.results() == {}
        assert log not in [each.readlink() for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
    finally:
        another.set()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody who may not read; run as root")
@pytest.mark.parametrize("closed", ["var_log/messages", "kernel/dmesg.current", "system/instance-id.txt"])
def test_a_file_that_may_not_be_read_is_a_gap_and_the_others_are_read(tmp_path: Path, closed: str) -> None:
    files = {"kubelet/kubelet.log": b"KAPUT\n", closed: b"KAPUT\n"}
    bundle = write_form(files, tmp_path, "directory")
    (bundle / closed).chmod(0)
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, bundle], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["findings"] == ["kubelet/kubelet.log"]
    assert [gap for gap in told["gaps"] if closed in gap and "Permission denied" in gap]


AS_NOBODY = """
import json, os, sys, tempfile
from pathlib import Path
from tests.support.archives.bundles import analyze_at
from tests.support.knowledge.packs import a_pack, a_rule
bundle, work = Path(sys.argv[1]), Path(tempfile.mkdtemp())
pack = a_pack(a_rule("t.kaput", "KAPUT"))
analyze_at(bundle, pack, work / "before")  # whoever comes next may not be able to import
for folder in [bundle, *bundle.parents]:
    if folder.stat().st_uid == 0 and folder != Path("/"):
        folder.chmod(folder.stat().st_mode | 0o055)
os.chown(work, 65534, 65534)
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
index = analyze_at(bundle, pack, work / "after").index
print(json.dumps({"findings": [f.evidence.source_file for f in index.findings], "gaps": index.gaps}))
"""


def test_a_view_counts_what_it_leaves_out(tmp_path: Path) -> None:
    index = index_of(FILES, tmp_path)
    severe = view(index, least=Severity.CRITICAL)
    assert (len(severe.index.findings), severe.below_severity) == (2, 1)
    late = view(index, window=TimeWindow(since=datetime(2026, 1, 12, tzinfo=UTC)))
    assert (len(late.index.findings), late.outside_window) == (0, 3)
    early = view(index, window=TimeWindow(until=datetime(2026, 1, 10, 8, 1, 40, tzinfo=UTC)))
    assert [finding.rule for finding in early.index.findings] == ["kernel.oom", "kernel.oom"]
