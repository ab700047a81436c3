"""No clean bill for what was not read: a fault is found, or the report says INCOMPLETE and --fail-on ends with 3."""

import base64
import bz2
import gzip
import json
import lzma
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from backports import zstd
from tests.support.processes.command import affidavit

JOURNAL = b"".join(
    b"Jan 15 10:2%d:03 ip-10-0-1-142 kernel: Out of memory: Killed process 22%d1 (java) total-vm:1kB\n" % (n % 10, n)
    for n in range(40)
)
KUBELET = b"".join(
    b'E0115 10:2%d:03.123456    3478 kubelet.go:2466] "Skipping pod synchronization" '
    b'err="PLEG is not healthy: pleg was last seen active 3m%ds ago; threshold is 3m0s"\n' % (n % 10, n)
    for n in range(40)
)
DMESG = b"".join(
    b"[ 81%02d.551000] Out of memory: Killed process 22%d1 (java) total-vm:1kB\n" % (n, n) for n in range(40)
)
OOM, PLEG = "kernel.oom-killer-invoked", "kubelet.pleg-not-healthy"
TAGGED = [line[16:] for line in JOURNAL.decode().splitlines()]
STRANGE = b"".join(b"2026-01-15 10:25:%02d checkout order %d not stored\n" % (n, n) for n in range(40))


def analyzed(*arguments: object) -> dict:
    done = affidavit("analyze", *arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def rules(index: dict) -> set[str]:
    return {finding["rule"] for finding in index["findings"]}


@pytest.mark.parametrize("name", ["kubelet.log", "kubelet", "renamed.txt", "node-17"])
def test_a_single_log_is_recognised_under_any_name(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(KUBELET)
    index = analyzed(tmp_path / name)
    assert any(rule.startswith("kubelet.") for rule in rules(index))
    assert index["coverage"]["coverage_pct"] == 100.0


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("messages-20260115.gz", gzip.compress),
        ("messages-20260115.xz", lzma.compress),
        ("messages.1.bz2", bz2.compress),
        ("messages.1.zst", zstd.compress),
        ("named-by-nobody", lzma.compress),
    ],
)
def test_a_compressed_log_is_read(name: str, pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(pack(JOURNAL))
    index = analyzed(tmp_path / name)
    assert index["summary"]["total"] > 0
    assert index["findings"][0]["count"] == 40
    assert index["coverage"]["coverage_pct"] == 100.0


@pytest.mark.parametrize("ending", ["gz", "xz", "bz2", "zst"])
def test_compressed_copies_in_a_folder_and_cut_ones_give_what_they_hold(ending: str, tmp_path: Path) -> None:
    pack = {"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress, "zst": zstd.compress}[ending]
    (tmp_path / "node" / "var_log").mkdir(parents=True)
    packed = pack(JOURNAL) + pack(JOURNAL)
    (tmp_path / "node" / "var_log" / f"messages-1.{ending}").write_bytes(packed[:-9])
    index = analyzed(tmp_path / "node")
    assert index["findings"][0]["count"] >= 40
    assert affidavit("analyze", tmp_path / "node", "--fail-on", "critical").returncode in (1, 3)
    assert "INCOMPLETE" in affidavit("analyze", tmp_path / "node").stdout


def test_several_logs_are_one_bundle(tmp_path: Path) -> None:
    for name, content in (("kubelet.log", KUBELET), ("dmesg.txt", DMESG)):
        (tmp_path / name).write_bytes(content)
    index = analyzed(tmp_path / "kubelet.log", tmp_path / "dmesg.txt")
    assert {finding["component"] for finding in index["findings"]} >= {"kubelet", "kernel"}
    assert index["coverage"]["files_scanned"] == 2


def test_a_renamed_log_in_a_folder_is_found_and_the_manifest_says_how(tmp_path: Path) -> None:
    (tmp_path / "node").mkdir()
    (tmp_path / "node" / "what-bob-sent.txt").write_bytes(JOURNAL)
    assert affidavit("analyze", tmp_path / "node", "--out", tmp_path / "out", "--quiet").returncode == 0
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_bytes())
    (file,) = manifest["expected_files"]
    assert (file["recognised_by"], file["recognised_as"], file["file_type"]) == ("content", "var_log/messages", "log")
    done = affidavit("verify", tmp_path / "out" / "findings_index.json", tmp_path / "node")
    assert done.returncode == 0, done.stdout


def test_standard_input_takes_the_journal_of_a_unit_and_mixed_ones() -> None:
    mixed = JOURNAL + b"".join(
        b"Jan 15 10:25:03 ip-10-0-1-142 kubelet[3478]: " + line + b"\n" for line in KUBELET.splitlines()
    )
    done = subprocess.run(
        [sys.executable, "-m", "affidavit", "analyze", "-", "--format", "json"],
        input=mixed,
        capture_output=True,
        check=True,
    )
    components = {finding["component"] for finding in json.loads(done.stdout)["findings"]}
    assert components == {"kernel", "kubelet"}


@pytest.mark.parametrize(
    "content",
    [
        bytes(5_000) + JOURNAL,
        bytes(3_000_000) + JOURNAL,
        ("\ufeff" + JOURNAL.decode().replace("\n", "\r\n")).encode("utf-16-le"),
        ("\ufeff" + JOURNAL.decode()).encode("utf-16-be"),
        JOURNAL.decode().encode("utf-16-le"),
    ],
    ids=["zeros", "many zeros", "utf-16 of powershell", "utf-16 big endian", "utf-16 without mark"],
)
@pytest.mark.parametrize("name", ["var_log/messages", "renamed.log"])
def test_a_log_in_an_unusual_coat_is_read_and_its_evidence_verifies(content: bytes, name: str, tmp_path: Path) -> None:
    path = tmp_path / "node" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    assert affidavit("analyze", tmp_path / "node", "--out", tmp_path / "out", "--quiet").returncode == 0
    index = json.loads((tmp_path / "out" / "findings_index.json").read_bytes())
    assert index["findings"][0]["count"] == 40
    assert index["findings"][0]["first_seen"] is not None
    assert index["findings"][0]["evidence"]["excerpt"].startswith("Jan 15")
    assert index["coverage"]["coverage_pct"] == 100.0
    assert affidavit("verify", tmp_path / "out" / "findings_index.json", tmp_path / "node").returncode == 0


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("app.log", STRANGE, "not_recognised"),
        ("notes.txt", STRANGE, "not_recognised"),
        ("kubelet/kubelet.log", b"\x04\x22\x4d\x18" + JOURNAL, "compression"),
        ("kubelet/kubelet.log", gzip.compress(JOURNAL), "compression"),
        ("kubelet/kubelet.log", b"\1\0\0" * 4000, "unreadable"),
        ("var_log/messages.lzma", lzma.compress(JOURNAL, format=lzma.FORMAT_ALONE), "compression"),
        ("var_log/messages", base64.encodebytes(JOURNAL), "unreadable"),
        ("var_log/messages", base64.b64encode(JOURNAL), "unreadable"),
        ("var_log/messages", JOURNAL.decode().encode("cp037"), "unreadable"),
        ("var_log/messages.lz4", b"\x04\x22\x4d\x18" + JOURNAL, "compression"),
        ("var_log/journal/system.journal", b"LPKSHHRH" + bytes(9_000), "unreadable"),
        ("var_log/app.log", JOURNAL.decode().encode("utf-32-le"), "unreadable"),
        ("events/system.evtx", b"ElfFile\0" + bytes(9_000), "unreadable"),
        ("page.txt", b"nothing\n" * 9_000 + JOURNAL, "not_recognised"),
        ("page.txt", b"nothing\n" * 300 + JOURNAL[:200], "not_recognised"),
        ("journal.json", b'{\n\t"__REALTIME_TIMESTAMP" : "1768472703551000",\n\t"A" : "b",\n}\n', "not_recognised"),
        ("journal.json", b'[{"__CURSOR":"s=1","__REALTIME_TIMESTAMP":"1768472703551000","A":"b"}]', "not_recognised"),
        ("kubelet/kubelet.log", JOURNAL.replace(b"\n", b"\r"), "not_recognised"),
    ],
)
def test_what_was_not_read_makes_the_report_incomplete(name: str, content: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / "node" / "kernel").mkdir(parents=True)
    (tmp_path / "node" / "kernel" / "dmesg.current").write_bytes(b"[    1.000000] fine\n")
    path = tmp_path / "node" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    index = analyzed(tmp_path / "node")
    assert index["coverage"]["files_scanned"] == 1
    assert [(skipped["file"], skipped["reason"]) for skipped in index["coverage"]["skipped_files"]] == [(name, reason)]
    done = affidavit("analyze", tmp_path / "node", "--fail-on", "info")
    # What stands in one endless line may still be found by the rules of that path.
    assert (done.returncode, "INCOMPLETE" in done.stdout) == (1 if index["summary"]["total"] else 3, True)


def test_a_log_that_is_a_link_out_of_the_folder_makes_the_report_incomplete_and_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "node" / "var_log").mkdir(parents=True)
    (tmp_path / "node" / "var_log" / "syslog").write_bytes(b"Jan 15 10:20:03 ip-10-0-1-142 systemd[1]: fine\n")
    (tmp_path / "elsewhere.log").write_bytes(JOURNAL)
    link = tmp_path / "node" / "var_log" / "messages"
    link.symlink_to(tmp_path / "elsewhere.log")
    done = affidavit("analyze", tmp_path / "node", "--fail-on", "high")
    assert (done.returncode, "INCOMPLETE" in done.stdout, "Out of memory" in done.stdout) == (3, True, False)
    link.unlink()
    link.symlink_to("syslog")
    assert "INCOMPLETE" not in affidavit("analyze", tmp_path / "node").stdout


def test_event_logs_of_windows_that_are_there_as_text_are_read_as_text(tmp_path: Path) -> None:
    (tmp_path / "system" / "events").mkdir(parents=True)
    (tmp_path / "system" / "events" / "system.evtx").write_bytes(b"ElfFile\0" + bytes(9_000))
    (tmp_path / "system" / "system-eventlogs.csv").write_text('"1/15/2026 9:45:49 AM","Information","node","Fine."\n')
    index = analyzed(tmp_path / "system")
    assert [skipped["reason"] for skipped in index["coverage"]["skipped_files"]] == ["binary"]


def _record(line: str, at: int, **more: object) -> dict[str, object]:
    program, _, message = line.partition(" ")[2].partition(": ")
    stamp = {"__REALTIME_TIMESTAMP": str(1768472703551000 + at), "_HOSTNAME": "node"}
    return {**stamp, "SYSLOG_IDENTIFIER": program, "MESSAGE": message, **more}


COATS = {
    "journal JSON": [json.dumps(_record(line, at)) for at, line in enumerate(TAGGED)],
    "journal JSON as a stream of events": [
        f"data: {json.dumps(_record(line, at))}\n" for at, line in enumerate(TAGGED)
    ],
    "RFC 5424": [
        f'<4>1 2026-01-15T10:25:03.{at:06}Z node kernel - - [a b="c"] {line.partition(": ")[2]}'
        for at, line in enumerate(TAGGED)
    ],
    "syslog with its priority": [f"<4>Jan 15 10:25:03 {line}" for line in TAGGED],
    "short-unix": [f"1768472703.{at:06} {line}" for at, line in enumerate(TAGGED)],
    "colours": [f"\x1b[0;1;31mJan 15 10:25:03 {line}\x1b[0m" for line in TAGGED],
    "a mark of UTF-8": ["\ufeffJan 15 10:25:03 " + TAGGED[0], *(f"Jan 15 10:25:03 {line}" for line in TAGGED[1:])],
    "carriage returns": [f"<4>Jan 15 10:25:03 {line}\r" for line in TAGGED],
}
CONTAINER_COATS = {
    "Docker": [
        json.dumps({"log": line + "\n", "stream": "stderr", "time": f"2026-01-15T10:25:03.{at:09}Z"})
        for at, line in enumerate(KUBELET.decode().splitlines())
    ],
    "kubectl logs --prefix": [f"[pod/node-7/kubelet] {line}" for line in KUBELET.decode().splitlines()],
    "kubectl logs --prefix --timestamps": [
        f"[pod/node-7/kubelet] 2026-01-15T10:25:03.123456789Z {line}" for line in KUBELET.decode().splitlines()
    ],
    "CloudWatch": [
        json.dumps({"timestamp": 1768472703551 + at, "message": line})
        for at, line in enumerate(KUBELET.decode().splitlines())
    ],
}


@pytest.mark.parametrize(
    ("rule", "lines"),
    [*((OOM, lines) for lines in COATS.values()), *((PLEG, lines) for lines in CONTAINER_COATS.values())],
    ids=[*COATS, *CONTAINER_COATS],
)
def test_a_line_that_another_program_wrapped_is_read_and_its_evidence_verifies(
    rule: str, lines: list[str], tmp_path: Path
) -> None:
    (tmp_path / "sent-by-bob").write_text("\n".join(lines) + "\n")
    done = affidavit("analyze", tmp_path / "sent-by-bob", "--out", tmp_path / "out", "--quiet", "--fail-on", "high")
    assert done.returncode == 1, done.stdout + done.stderr
    index = json.loads((tmp_path / "out" / "findings_index.json").read_bytes())
    (found,) = [finding for finding in index["findings"] if finding["rule"] == rule]
    assert (found["count"], found["component"]) == (40, rule.partition(".")[0])
    assert found["first_seen"].startswith("2026-01-15T10:2"), "the time is the line's own"
    assert (
        found["evidence"]["excerpt"]
        == "\n".join(lines).split("\n")[0].rstrip("\r")[: len(found["evidence"]["excerpt"])]
    )
    assert index["coverage"]["coverage_pct"] == 100.0
    verified = affidavit("verify", tmp_path / "out" / "findings_index.json", tmp_path / "sent-by-bob")
    assert verified.returncode == 0, verified.stdout


@pytest.mark.parametrize(
    "path", ["kubelet/kubelet.log", "cni/10-aws.conflist", "system/systemd-analyze.svg", "ipamd/enis.json"]
)
def test_a_journal_at_the_place_of_another_file_is_read_as_a_journal(path: str, tmp_path: Path) -> None:
    there = tmp_path / "node" / path
    there.parent.mkdir(parents=True)
    there.write_bytes(JOURNAL)
    index = analyzed(tmp_path / "node")
    assert [finding["count"] for finding in index["findings"] if finding["rule"] == OOM] == [40]


@pytest.mark.parametrize(
    ("path", "content", "rule"), [("kubelet/kubelet.log", DMESG, OOM), ("kernel/dmesg.current", KUBELET, PLEG)]
)
def test_the_log_of_the_kernel_and_that_of_a_daemon_are_told_apart(
    path: str, content: bytes, rule: str, tmp_path: Path
) -> None:
    there = tmp_path / "node" / path
    there.parent.mkdir(parents=True)
    there.write_bytes(content)
    assert rule in rules(analyzed(tmp_path / "node"))


IPAMD = b"".join(
    b'{"level":"error","ts":"2026-01-15T10:25:%02d.020Z","caller":"ipamd/ipamd.go:1153","msg":"Failed to allocate a '
    b'private IP address InsufficientFreeAddressesInSubnet: not enough free addresses"}\n' % n
    for n in range(40)
)


def test_a_log_at_another_programs_path_is_read_by_its_own_rules(tmp_path: Path) -> None:
    (tmp_path / "node" / "kubelet").mkdir(parents=True)
    (tmp_path / "node" / "kubelet" / "kubelet.log").write_bytes(IPAMD)
    assert any(rule.startswith(("cni.", "ipamd.", "networking.")) for rule in rules(analyzed(tmp_path / "node")))


@pytest.mark.parametrize("lines", [60, 20_000])
@pytest.mark.parametrize("appended", [DMESG, JOURNAL, IPAMD])
def test_a_log_appended_to_another_one_is_never_a_clean_bill(lines: int, appended: bytes, tmp_path: Path) -> None:
    fine = b'I0115 10:20:03.123456    3478 kubelet.go:2466] "SyncLoop ADD" source="api" pods=["default/web"]\n'
    (tmp_path / "node" / "kubelet").mkdir(parents=True)
    (tmp_path / "node" / "kubelet" / "kubelet.log").write_bytes(fine * lines + appended)
    done = affidavit("analyze", tmp_path / "node", "--fail-on", "critical")
    assert done.returncode in (1, 3)
    assert done.returncode == 1 or "INCOMPLETE" in done.stdout
