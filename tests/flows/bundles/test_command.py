"""The command as a stranger meets it: real processes, real bundles, all forms and layouts."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.processes.command import affidavit

from affidavit.evaluation.generator import BundleSpec, Form, Layout, fault_names, generate, write

BROKEN = BundleSpec(layout=Layout.AL2, faults=("oom", "storage_io"))


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(generate(BROKEN), tmp_path_factory.mktemp("bundle"), Form.TAR_GZ)


def results(folder: Path) -> tuple[dict, dict]:
    return (
        json.loads((folder / "manifest.json").read_bytes()),
        json.loads((folder / "findings_index.json").read_bytes()),
    )


def test_a_report_leads_with_the_worst_and_ends_with_what_was_not_looked_at(bundle: Path) -> None:
    done = affidavit("analyze", bundle)
    assert done.returncode == 0
    assert done.stderr == ""
    critical, high = done.stdout.index("CRITICAL"), done.stdout.index("HIGH")
    assert critical < high < done.stdout.index("Looked at")
    assert re.search(r"F-001  .+  \d+×  2026-01-\d\d \d\d:\d\d:\d\d", done.stdout)
    assert re.search(r"^  \S+:\d+$", done.stdout, re.MULTILINE)
    assert re.search(r"\d+ of \d+ files scanned \(\d+\.\d %\)", done.stdout)
    assert re.search(r"began 2026-01-\d\d .+, last seen 2026", done.stdout)


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_a_healthy_node_is_told_that_nothing_needs_action_after_what_was_looked_at(tmp_path: Path, form: str) -> None:
    affidavit("sample", "--faults", "healthy", "--out", str(tmp_path))
    (healthy,) = tmp_path.iterdir()
    said = affidavit("analyze", str(healthy), "--format", form).stdout
    assert said.rstrip("*\n").endswith("Nothing known needs action.") and "Looked at" in said
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes(healthy.read_bytes()[:-5000])
    assert "needs action" not in affidavit("analyze", str(cut), "--format", form).stdout


def test_a_broken_node_is_not_told_so_whatever_is_hidden(bundle: Path) -> None:
    assert "needs action" not in affidavit("analyze", str(bundle), "--severity", "critical", "--since", "1s").stdout


def test_out_writes_manifest_and_index_that_verify(bundle: Path, tmp_path: Path) -> None:
    assert affidavit("analyze", bundle, "--out", tmp_path / "out", "--quiet").returncode == 0
    manifest, index = results(tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "findings_index.json",
        "manifest.json",
        "report.html",
    ]
    assert manifest["version"] == index["version"] == "2.0"
    assert manifest["source_archive"] == bundle.name
    assert manifest["total_files"] == len(manifest["expected_files"]) == index["coverage"]["total_files"]
    done = affidavit("verify", tmp_path / "out" / "findings_index.json", bundle)
    assert done.returncode == 0
    assert f"All {len(index['findings']) + len(index['suppressed'])} pieces of evidence" in done.stdout
    assert "was derived again from the bundle" in " ".join(done.stdout.split())


def test_extract_keeps_files_that_can_be_verified_and_analyzed_again(bundle: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert affidavit("analyze", bundle, "--out", out, "--extract", "-q").returncode == 0
    assert affidavit("verify", out / "findings_index.json", out).returncode == 0
    again = json.loads(affidavit("analyze", out, "--format", "json").stdout)
    _, index = results(out)
    assert again["findings"] == index["findings"]
    assert affidavit("analyze", bundle, "--out", out, "--extract", "-q").returncode == 2


@pytest.mark.slow
@pytest.mark.parametrize("layout", list(Layout))
def test_every_layout_shows_its_faults_and_all_evidence_holds(layout: Layout, tmp_path: Path) -> None:
    path = write(generate(BundleSpec(layout=layout, faults=("oom", "image_pull"))), tmp_path, Form.TAR_GZ)
    assert affidavit("analyze", path, "--out", tmp_path / "out", "-q").returncode == 0
    _, index = results(tmp_path / "out")
    assert index["findings"]
    assert index["coverage"]["files_scanned"] + index["coverage"]["skipped_total"] == index["coverage"]["total_files"]
    assert affidavit("verify", tmp_path / "out" / "findings_index.json", path, "-q").returncode == 0


def test_verify_names_what_no_longer_holds(bundle: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    affidavit("analyze", bundle, "--out", out, "--extract", "-q")
    _, index = results(out)
    victim = index["findings"][0]["evidence"]
    file = out / "extracted" / victim["source_file"]
    content = bytearray(file.read_bytes())
    content[victim["byte_offset"]["start"]] ^= 1
    file.write_bytes(bytes(content))
    done = affidavit("verify", out / "findings_index.json", out)
    assert done.returncode == 1
    assert f"BROKEN F-001 {index['findings'][0]['pattern']}" in done.stdout
    assert "another sha256" in done.stdout
    file.unlink()
    assert "the bundle has no" in affidavit("verify", out / "findings_index.json", out).stdout


def test_verify_refuses_an_index_that_was_touched(bundle: Path, tmp_path: Path) -> None:
    affidavit("analyze", bundle, "--out", tmp_path, "-q")
    _, index = results(tmp_path)
    for finding in index["findings"]:
        finding["evidence"]["line_range"]["start"] += 1
    forged = tmp_path / "forged.json"
    forged.write_text(json.dumps(index))
    done = affidavit("verify", forged, bundle)
    assert done.returncode == 1
    assert f"{len(index['findings'])} of " in done.stdout


def test_json_is_the_index_and_markdown_quotes_lines_in_code(bundle: Path) -> None:
    index = json.loads(affidavit("analyze", bundle, "--format", "json", "--severity", "high").stdout)
    assert {finding["severity"] for finding in index["findings"]} == {"critical", "high"}
    text = affidavit("analyze", bundle, "--format", "markdown").stdout
    assert text.startswith("# Node `i-")
    assert f"```\n{index['findings'][0]['evidence']['excerpt']}\n```" in text


def test_fail_on_sets_the_exit_code(bundle: Path, tmp_path: Path) -> None:
    assert affidavit("analyze", bundle, "-q", "--fail-on", "high").returncode == 1
    healthy = write(generate(BundleSpec(layout=Layout.AL2023)), tmp_path, Form.TAR_GZ)
    done = affidavit("analyze", healthy, "--fail-on", "medium")
    assert done.returncode == 0, done.stdout
    assert "files" in done.stdout


def test_a_time_window_shows_what_happened_in_it_and_counts_the_rest(bundle: Path) -> None:
    done = affidavit("analyze", bundle, "--since", "2025-01-01", "--until", "2025-02-01")
    assert done.returncode == 0
    assert "outside the asked time" in done.stdout
    assert re.search(r"^nothing in the asked time; not shown: \d+ critical · ", done.stdout, re.MULTILINE)
    assert affidavit("analyze", bundle, "--since", "9d").returncode == 0


@pytest.mark.parametrize("span", ["99999999999d", "3000000d", "9" * 400 + "s", "9" * 5000 + "d"])
def test_a_span_longer_than_time_itself_is_refused(bundle: Path, span: str) -> None:
    done = affidavit("analyze", bundle, "--since", span)
    assert done.returncode == 2
    assert "longer ago than a time can be" in done.stderr


def test_a_terminal_that_cannot_show_a_character_gets_it_escaped(bundle: Path) -> None:
    done = affidavit("analyze", bundle, env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert r"\xd7" in done.stdout
    assert done.stdout.isascii()


def test_json_is_utf8_whatever_the_locale(tmp_path: Path) -> None:
    folder = write(generate(BROKEN), tmp_path, Form.DIRECTORY)
    with (folder / "kernel" / "dmesg.human.current").open("w") as file:
        file.write("[Thu Jan 15 09:42:21 2026] café invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0\n")
    done = affidavit("analyze", folder, "--format", "json", env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["findings"]
    shown = affidavit("analyze", folder, "--format", "json", env={"PYTHONIOENCODING": "utf-8"})
    assert json.loads(shown.stdout)["findings"] == json.loads(done.stdout)["findings"]
    assert not done.stdout.isascii()


def test_standard_input_is_a_bundle_too(bundle: Path) -> None:
    piped = json.loads(affidavit("analyze", "-", "--format", "json", stdin=bundle.read_bytes()).stdout)
    named = json.loads(affidavit("analyze", bundle, "--format", "json").stdout)
    assert piped["findings"] == named["findings"]
    assert piped["index_id"] == named["index_id"]


def test_rules_of_ones_own_add_replace_and_switch_off(bundle: Path, tmp_path: Path) -> None:
    index = json.loads(affidavit("analyze", bundle, "--format", "json").stdout)
    rule = index["findings"][0]["rule"]
    area, name = rule.split(".")
    source = Path(__file__).parents[3] / "src/affidavit/rules/catalog" / area / f"{name}.yaml"
    (tmp_path / area).mkdir()
    text = re.sub(r"^status: \w+$", "status: off", source.read_text(), flags=re.MULTILINE)
    (tmp_path / area / f"{name}.yaml").write_text(text)
    without = json.loads(affidavit("analyze", bundle, "--format", "json", "--rules", tmp_path).stdout)
    assert rule not in {finding["rule"] for finding in without["findings"]}
    assert without["rules_version"] != index["rules_version"]


REFUSED = {
    "missing.tar.gz": (None, "there is no"),
    "empty.tar.gz": (b"", "is empty"),
    "paper.pdf": (b"%PDF-1.7 some paper", "a PDF document"),
    "notes.txt": (b"just some notes\n" * 50, "no archive"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_rubbish_is_refused_with_what_was_expected(name: str, tmp_path: Path) -> None:
    content, message = REFUSED[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    done = affidavit("analyze", tmp_path / name)
    assert done.returncode == 2
    assert message in done.stderr
    assert "a node log bundle: .tar.gz" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_directory_without_logs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8\xff")
    done = affidavit("analyze", tmp_path)
    assert done.returncode == 2
    assert "a node log bundle" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--since", "yesterday-ish"], "is not a time"),
        (["--since", "2026-02-01", "--until", "2026-01-01"], "is after --until"),
        (["--extract"], "--extract needs a place"),
        (["--rules", "/nowhere/rules"], "is not a directory"),
    ],
)
def test_bad_options_say_what_to_do(bundle: Path, arguments: list[str], message: str) -> None:
    done = affidavit("analyze", bundle, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 2


@pytest.mark.parametrize("place", ["/dev/null/x", "/proc/x"])
def test_a_place_that_cannot_hold_results_is_told_as_such_before_the_work(bundle: Path, place: str) -> None:
    done = affidavit("analyze", bundle, "--out", place)
    assert done.returncode == 3
    assert done.stderr.startswith(f"affidavit: {place} cannot be made: ")
    assert done.stdout == ""


def test_another_bundles_results_are_never_overwritten(bundle: Path, tmp_path: Path) -> None:
    other = write(generate(BundleSpec(layout=Layout.UBUNTU, faults=("dns",))), tmp_path, Form.TAR_GZ)
    assert affidavit("analyze", bundle, "--out", tmp_path / "out", "-q").returncode == 0
    before = results(tmp_path / "out")
    done = affidavit("analyze", other, "--out", tmp_path / "out", "-q")
    assert done.returncode == 2
    assert "another bundle" in done.stderr
    assert results(tmp_path / "out") == before
    assert affidavit("analyze", bundle, "--out", tmp_path / "out", "-q").returncode == 0


def test_escape_sequences_in_a_log_never_reach_the_terminal(tmp_path: Path) -> None:
    control = "\x1b[2J\x1b]0;owned\x07\u202e"
    hostile = f"[ 8123.551210] {control} java invoked oom-killer: gfp_mask=0xcc0, order=0, oom_score_adj=0\n"
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "dmesg.current").write_text(hostile)
    for form in ("text", "markdown"):
        done = affidavit("analyze", tmp_path, "--format", form)
        assert "invoked oom-killer" in done.stdout
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", done.stdout)


def test_being_stopped_leaves_nothing_behind_and_says_so(bundle: Path, tmp_path: Path) -> None:
    """`timeout`, `docker stop` and Ctrl-C, while half of the bundle has come through a pipe and the rest never does."""
    for number in (signal.SIGINT, signal.SIGTERM):
        scratch = tmp_path / f"scratch-{number}"
        scratch.mkdir()
        command = [sys.executable, "-m", "affidavit", "analyze", "-", "--out", tmp_path / "out"]
        environment = {**os.environ, "TMPDIR": str(scratch)}
        process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdin is not None
        process.stdin.write(bundle.read_bytes()[:-1000])
        process.stdin.flush()
        while process.poll() is None and not list(scratch.iterdir()):
            time.sleep(0.01)
        process.send_signal(number)
        _, message = process.communicate(timeout=60)
        assert process.returncode == 130
        assert b"interrupted" in message
        assert list(scratch.iterdir()) == []
        assert list((tmp_path / "out").iterdir()) == []


def test_a_filter_that_hides_everything_makes_no_node_healthy(tmp_path: Path) -> None:
    sick = write(generate(BundleSpec(layout=Layout.AL2023, faults=("disk_pressure",))), tmp_path, Form.TAR_GZ)
    done = affidavit("analyze", sick, "--severity", "critical", "--out", tmp_path / "out")
    headline = re.search(r"^nothing at critical or above; not shown: \d+ high · .+$", done.stdout, re.MULTILINE)
    assert headline is not None, done.stdout
    assert "No known fault" not in done.stdout
    page = (tmp_path / "out" / "report.html").read_text()
    assert f": {headline[0]}</title>" in page
    assert "No known fault" not in page
    text = affidavit("analyze", sick, "--severity", "critical", "--format", "markdown").stdout
    assert text.splitlines()[0].endswith(headline[0])
    assert "No known fault" not in text
    index = json.loads(affidavit("analyze", sick, "--severity", "critical", "--format", "json").stdout)
    assert (index["findings"], index["filter"]["severity"]) == ([], "critical")
    assert re.fullmatch(r"\d+ findings below the asked severity", index["filter"]["not_shown"][0])
    assert index["summary"]["high"] > 0
    later = affidavit("analyze", sick, "--since", "2027-01-01").stdout
    assert re.search(r"^1 high; not shown: \d+ high · ", later, re.MULTILINE), "one has no time and may be of any"


def test_fail_on_counts_what_the_severity_hides_and_not_what_the_time_leaves_out(bundle: Path, tmp_path: Path) -> None:
    sick = write(generate(BundleSpec(layout=Layout.AL2023, faults=("disk_pressure",))), tmp_path, Form.TAR_GZ)
    assert affidavit("analyze", sick, "-q", "--severity", "critical", "--fail-on", "high").returncode == 1
    assert affidavit("analyze", sick, "-q", "--fail-on", "critical").returncode == 0
    assert affidavit("analyze", bundle, "-q", "--fail-on", "high", "--since", "2027-01-01").returncode == 0


@pytest.mark.slow
def test_an_archive_that_is_cut_off_never_passes_in_silence(bundle: Path, tmp_path: Path) -> None:
    healthy = write(generate(BundleSpec(layout=Layout.AL2023)), tmp_path, Form.TAR_GZ).read_bytes()
    for cut in (30_000, 60_000):
        part = healthy[:cut]
        told = "INCOMPLETE: the rest of the archive was not read: the compressed data ends too early (and 1 more,"
        done = affidavit("analyze", "-", stdin=part)
        assert done.stdout.startswith(told)
        assert re.search(r"^  \d+ files scanned, 0\.\d+ MB; how much more there was cannot be told$", done.stdout, re.M)
        gaps = done.stdout.partition("\nGaps\n")[2].splitlines()
        assert len(gaps) == len(set(gaps))
        title, _, second = affidavit("analyze", "-", "--format", "markdown", stdin=part).stdout.splitlines()[:3]
        assert title.endswith("; part of the bundle was not read")
        assert second.startswith(f"**{told.partition(' (')[0]}")
        for options in (["-q", "--severity", "medium"], ["--format", "json"]):
            quiet = affidavit("analyze", "-", *options, stdin=part)
            assert quiet.stderr.startswith(f"affidavit: {told}")
            assert quiet.returncode == 0
        assert affidavit("analyze", "-", "-q", "--fail-on", "high", stdin=part).returncode == 3
    sick = bundle.read_bytes()
    assert affidavit("analyze", "-", "-q", "--fail-on", "high", stdin=sick[: len(sick) * 3 // 4]).returncode == 1


def test_the_help_of_sample_names_every_layout_fault_and_form() -> None:
    done = affidavit("sample", "-h", env={"COLUMNS": "400"})
    assert done.returncode == 0
    for choice in (*Layout, *Form, *fault_names()):
        assert re.search(rf"[ :]{re.escape(choice)}[ ,;.]", done.stdout), choice
    refused = affidavit("sample", "--faults", "fire")
    assert refused.returncode == 2
    assert refused.stderr.count("healthy") == 1


def test_a_sample_may_be_of_a_named_node_or_of_many(tmp_path: Path) -> None:
    done = affidavit("sample", "--instance-id", "i-0000000000000ffff", "--nodes", "3", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    ids = [Path(line).name.split("_")[1] for line in done.stdout.splitlines()]
    assert ids == ["i-0000000000000ffff", "i-00000000000010000", "i-00000000000010001"]
    assert affidavit("sample", "--instance-id", "worker-7", "--out", tmp_path).returncode == 2


def test_a_bottlerocket_sample_tells_its_node(tmp_path: Path) -> None:
    assert affidavit("sample", "--layout", "bottlerocket", "--out", tmp_path / "bundles").returncode == 0
    taken = affidavit("fleet", "add", tmp_path / "bundles", env={"AFFIDAVIT_DATA": str(tmp_path / "data")})
    assert (taken.returncode, taken.stdout) == (0, "1 bundle(s), 1 new among the fleet's tables\n"), taken.stderr


def test_a_sample_comes_as_its_collector_writes_it(tmp_path: Path) -> None:
    for layout, ending in (("windows", ".zip"), ("al2023", ".tar.gz")):
        done = affidavit("sample", "--layout", layout, "--faults", "healthy", "--out", tmp_path / layout)
        assert done.stdout.strip().endswith(ending)
        assert affidavit("analyze", done.stdout.strip(), "-q").returncode == 0
