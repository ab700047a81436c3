"""The HTML report: hostile text stays text, nothing is fetched, nothing is cut without saying so."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.browser.pages import multiplied, page_of
from tests.support.archives.bundles import analyze_at, analyze_files, write_form
from tests.support.knowledge.packs import a_pack, a_rule, a_suppression

from affidavit.entrypoints.report.page.context_lines import AROUND, LINE_CHARACTERS, context_of, is_longer_than_excerpt
from affidavit.entrypoints.report.terminal_escapes_and_colours import harmless
from affidavit.evaluation.generator import BundleSpec, Form, Layout, generate, write
from affidavit.evidence.severity import Severity
from affidavit.index.filtered import TimeWindow
from affidavit.index.findings_index import summarize
from affidavit.index.scanning.scan import LONGEST_LINE
from affidavit.investigation import Analysis
from affidavit.knowledge import load_knowledge

PACK = a_pack(a_rule("test.kaput", "KAPUT", severity="critical"))
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
HOSTILE = [
    "</script><img src=x onerror=alert(1)> KAPUT",
    "<!--<script> KAPUT",
    "]]></style></noscript></code><svg onload=alert(1)> KAPUT",
    "\u202eevil\u2066 \u200b KAPUT \u2028\u2029",
    "nul \x00 escape \x1b[2J bell \x07 KAPUT",
    "${title} $data $$ %s {0} KAPUT",
    "&lt;b&gt; &amp;quot; ' \" ` KAPUT",
]


class Outline(HTMLParser):
    """Tags with their attributes, and the text of each script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script":
            self.scripts[-1] += data

    @property
    def data(self) -> dict[str, Any]:
        return json.loads(self.scripts[0])


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    folder = tmp_path_factory.mktemp("broken")
    path = write(generate(BundleSpec(layout=Layout.AL2, faults=("oom", "kernel_hang", "dns"))), folder, Form.TAR_GZ)
    return analyze_at(path, load_knowledge(), folder / "work")


@pytest.mark.parametrize("line", HOSTILE)
def test_hostile_text_stays_text(line: str, tmp_path: Path) -> None:
    files = {
        "kubelet/kubelet.log": f"before {line}\n{line}\nafter {line}\n".encode(),
        "var_log/<img src=x onerror=alert(1)>\u202e.log": line.encode() + b"\n",
    }
    page = page_of(analyze_files(files, PACK, tmp_path), PACK)
    outline, clean = Outline(page), Outline(page_of(_plain(tmp_path / "plain"), PACK))
    tags = [tag for tag, _ in outline.tags if tag not in ("li", "code")]
    assert tags == [tag for tag, _ in clean.tags if tag not in ("li", "code")]
    assert len(outline.scripts) == 2
    assert not [name for _, attributes in outline.tags for name in attributes if name.startswith("on")]
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]", page)
    assert [harmless(line), 0] in outline.data["excerpts"]


def _plain(folder: Path) -> Analysis:
    return analyze_files({"kubelet/kubelet.log": b"KAPUT\n" * 3, "var_log/plain.log": b"KAPUT\n"}, PACK, folder)


def test_names_from_the_bundle_stay_text_too(tmp_path: Path) -> None:
    analysis = analyze_files({"kubelet/kubelet.log": b"KAPUT\n"}, PACK, tmp_path)
    hostile = "</title><script>alert(1)</script>"
    analysis = replace(
        analysis,
        manifest=replace(analysis.manifest, source_archive=hostile),
        index=replace(analysis.index, instance_id=hostile, gaps=(hostile,)),
    )
    outline = Outline(page_of(analysis, PACK))
    assert len(outline.scripts) == 2
    assert outline.data["head"]["bundle"] == outline.data["head"]["instance"] == outline.data["gaps"][0] == hostile


def test_the_page_fetches_nothing(broken: Analysis) -> None:
    outline = Outline(page_of(broken, load_knowledge()))
    policies = [attributes["content"] for tag, attributes in outline.tags if "http-equiv" in attributes]
    assert policies == [POLICY]
    assert not {"link", "img", "iframe", "object", "embed", "base"} & {tag for tag, _ in outline.tags}
    for _, attributes in outline.tags:
        assert not {"src", "srcset", "action", "data", "poster"} & attributes.keys()
        assert (attributes.get("href") or "#").startswith("#")
    style = Path("src/affidavit/entrypoints/report/page/report.css")
    text = (Path(__file__).parents[3] / style).read_text()
    assert "url(" not in text
    assert "@import" not in text


def test_data_is_never_parsed_as_markup(broken: Analysis) -> None:
    script = Outline(page_of(broken, load_knowledge())).scripts[1]
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "DOMParser"):
        assert way not in script


def test_every_finding_is_there_with_its_line_in_context(broken: Analysis) -> None:
    page = page_of(broken, load_knowledge())
    data = Outline(page).data
    findings = broken.index.findings
    assert [row[0] for row in data["findings"]] == [finding.finding_id for finding in findings]
    assert not any(data["leftOut"].values())
    for finding, (excerpt, _), detail in zip(findings, data["excerpts"], data["details"], strict=True):
        assert excerpt == harmless(finding.evidence.excerpt)
        raw = broken.bundle.locations[finding.evidence.source_file].read_bytes()
        lines = [line.decode("utf-8", "replace") for line in raw.split(b"\n")]
        at = finding.evidence.line_range.start - 1
        above = [harmless(line.rstrip("\r"))[:LINE_CHARACTERS] for line in lines[max(0, at - AROUND) : at]]
        assert [text for text, _ in detail["before"]] == above
    fallback = page[page.index("<noscript>") : page.index("</noscript>")]
    assert all(f"<li>{finding.finding_id} " in fallback for finding in findings)


def test_rules_explain_their_findings(broken: Analysis) -> None:
    knowledge = load_knowledge()
    data = Outline(page_of(broken, knowledge)).data
    for entry in data["tables"]["rules"]:
        rule = knowledge.rule(entry["id"])
        assert (entry["name"], entry["means"], tuple(entry["steps"])) == (rule.name, rule.means, rule.first_steps)


def test_long_lines_are_cut_with_a_mark_and_line_ends_are_not_text(tmp_path: Path) -> None:
    long, huge = b"x" * 600, b"y" * 3_000_000
    lines = [huge, b"one", long, b"KAPUT " + long, b"three", huge, b"five"]
    analysis = analyze_files({"kubelet/kubelet.log": b"\r\n".join(lines)}, PACK, tmp_path)
    data = Outline(page_of(analysis, PACK)).data
    assert data["excerpts"] == [[("KAPUT " + "x" * 600)[:500], 1]]
    detail = data["details"][0]
    # Where the line above begins is out of reach, so it is not shown; the one below shows its beginning.
    assert detail["before"] == [["one", 0], ["x" * 500, 1]]
    assert detail["after"] == [["three", 0], ["y" * 500, 1]]


def test_context_ends_where_the_file_does(tmp_path: Path) -> None:
    for number, content in enumerate((b"KAPUT", b"KAPUT\n", b"KAPUT\n\nlast\n")):
        analysis = analyze_files({"kubelet/kubelet.log": content}, PACK, tmp_path / str(number))
        context = context_of(analysis.index.findings[0].evidence, analysis.bundle)
        assert context is not None
        assert context.before == ()
        assert [line.text for line in context.after] == (["", "last"] if number == 2 else [])


def test_lines_around_a_finding_in_utf_16_read_as_text(tmp_path: Path) -> None:
    """Short and blank lines as well: by themselves they could be anything."""
    analysis = powershell("OK\r\n\r\nName : kubelet\r\nStatus : Stopped\r\n\r\nno\r\nName : spooler\r\n", tmp_path)
    [finding] = analysis.index.findings
    context = context_of(finding.evidence, analysis.bundle)
    assert context is not None and finding.evidence.excerpt == "Status : Stopped"
    assert [line.text for line in context.before] == ["OK", "", "Name : kubelet"]
    assert [line.text for line in context.after] == ["", "no", "Name : spooler"]


@pytest.mark.parametrize(("length", "is_longer"), [(500, False), (501, True)])
def test_a_line_in_utf_16_is_longer_than_its_excerpt_from_the_same_length_on(
    length: int, is_longer: bool, tmp_path: Path
) -> None:
    analysis = powershell(f"Name : kubelet\n{'Status : Stopped'.ljust(length, '.')}\n", tmp_path)
    assert is_longer_than_excerpt(analysis.index.findings[0].evidence, analysis.bundle) is is_longer


def powershell(output: str, folder: Path) -> Analysis:
    files = {"services": f"\ufeff{output}".encode("utf-16-le"), "kubelet/kubelet.log": b"x\n"}
    return analyze_at(write_form(files, folder, "directory"), load_knowledge(), folder / "work")


def test_ten_thousand_findings_fit_and_what_is_left_out_is_counted(broken: Analysis) -> None:
    page = page_of(multiplied(broken, 10_000), load_knowledge())
    data = Outline(page).data
    assert len(page.encode()) < 5_000_000
    assert [row[0] for row in data["findings"]] == [f"F-{number:03d}" for number in range(1, 10_001)]
    assert data["leftOut"]["findings"] == 0
    assert len(data["excerpts"]) + data["leftOut"]["excerpts"] == 10_000
    assert len(data["details"]) + data["leftOut"]["contexts"] == 10_000
    assert len(data["details"]) > 100


def test_even_a_page_of_nothing_but_escapes_stays_small(tmp_path: Path) -> None:
    line = b"KAPUT " + b"<\x07&" * 200
    analysis = analyze_files({"kubelet/kubelet.log": (line + b"\n") * 20}, PACK, tmp_path)
    first = analysis.index.findings[0]
    evidence = [replace(first.evidence, source_file=f"var_log/{'<' * 200}{number}.log") for number in range(9_000)]
    findings = tuple(
        replace(first, finding_id=f"F-{number:03d}", evidence=entry) for number, entry in enumerate(evidence, 1)
    )
    gaps = tuple(f"{'<' * 100}{number}" for number in range(9_000))
    index = replace(analysis.index, findings=findings, gaps=gaps, summary=summarize(findings))
    page = page_of(replace(analysis, index=index), PACK)
    data = Outline(page).data
    assert len(page.encode()) < 5_000_000
    assert 0 < len(data["findings"]) < 9_000
    assert len(data["findings"]) + data["leftOut"]["findings"] == 9_000
    assert len(data["gaps"]) + data["leftOut"]["gaps"] == 9_000


def test_verdicts_tell_quiet_from_unread_from_absent(tmp_path: Path) -> None:
    files = {
        "kubelet/kubelet.log": b"KAPUT\n",
        "containerd/containerd-log.txt": b"fine\n",
        "var_log/messages": b"fine\n",
        "cni/10-aws.conflist": b"{}\n",
    }
    data = Outline(page_of(analyze_files(files, PACK, tmp_path), PACK)).data
    said = {entry["component"]: (entry["state"], entry["text"]) for entry in data["verdicts"]}
    assert data["verdicts"][0]["component"] == "kubelet"
    assert said["kubelet"] == ("found", "test.kaput")
    assert said["containerd"] == ("quiet", "nothing known found in 2 files")
    assert said["kernel"] == ("quiet", "nothing known found in 1 shared log")
    assert said["cni"] == ("not_read", "1 file in the bundle, none scanned for faults")
    assert said["coredns"] == ("absent", "not in this bundle")


@pytest.mark.parametrize("links", [0, 40])
def test_a_component_that_nobody_could_read_is_not_called_quiet_however_many_files_come_before_it(
    links: int, tmp_path: Path
) -> None:
    """Links are as bad as a line that is too long, and an index lists only the first of such files."""
    files = {"kubelet/kubelet.log": b"x" * LONGEST_LINE + b"\n", "containerd/containerd-log.txt": b"fine\n"}
    bundle = write_form(files, tmp_path, "directory")
    for number in range(links):
        (bundle / f"a{number}").symlink_to("/etc/hostname")
    analysis = analyze_at(bundle, PACK, tmp_path / "work", workers=1)
    data = Outline(page_of(analysis, PACK)).data
    said = {entry["component"]: (entry["state"], entry["text"]) for entry in data["verdicts"]}
    assert said["kubelet"] == ("not_read", "1 file in the bundle, none scanned for faults")
    assert said["containerd"] == ("quiet", "nothing known found in 1 file")


def test_a_component_whose_findings_are_left_out_is_not_called_quiet(tmp_path: Path) -> None:
    files = {"kubelet/kubelet.log": b"Jan 15 10:00:00 ip-10-0-0-1 kubelet[1]: KAPUT\n"}
    analysis = analyze_files(files, PACK, tmp_path)
    page = page_of(analysis, PACK, window=TimeWindow(until=datetime(2020, 1, 1, tzinfo=UTC)))
    data = Outline(page).data
    said = {entry["component"]: entry["text"] for entry in data["verdicts"]}
    assert said["kubelet"] == "has findings, all left out of this report"
    assert data["head"]["notShown"] == ["1 finding outside the asked time"]
    assert data["head"]["nothing"] == ""


def test_nothing_found_is_said_to_be_about_what_was_read(tmp_path: Path) -> None:
    data = Outline(page_of(analyze_files({"kubelet/kubelet.log": b"fine\n"}, PACK, tmp_path), PACK)).data
    assert data["head"]["nothing"].startswith("No known fault in the 1 files that were read.")


def test_suppressed_hits_and_skipped_files_come_with_their_reasons(tmp_path: Path) -> None:
    quiet = a_suppression("drill", ["test.kaput"], "drill", suppressed="KAPUT drill", kept="KAPUT")
    knowledge = a_pack(a_rule("test.kaput", "KAPUT"), quiet)
    files = {"kubelet/kubelet.log": b"KAPUT drill\n", "storage/fstab.txt": b"x\n"}
    data = Outline(page_of(analyze_files(files, knowledge, tmp_path), knowledge)).data
    assert [(entry["by"], entry["reason"], entry["count"]) for entry in data["suppressed"]] == [
        ("drill", "The test explains it.", 1)
    ]
    assert data["coverage"]["skipped"] == [["storage/fstab.txt", "config_file", 2]]


def test_a_file_that_is_gone_costs_its_context_and_not_the_report(tmp_path: Path) -> None:
    analysis = analyze_files({"kubelet/kubelet.log": b"KAPUT\n"}, PACK, tmp_path)
    finding = analysis.index.findings[0]
    gone = replace(finding, evidence=replace(finding.evidence, source_file="kubelet/gone.log"))
    data = Outline(page_of(replace(analysis, index=replace(analysis.index, findings=(gone,))), PACK)).data
    assert data["details"] == [{"unread": "the bundle has no kubelet/gone.log"}]
    assert data["excerpts"] == [["KAPUT", 0]]


def test_chains_name_a_finding_for_every_step(broken: Analysis) -> None:
    data = Outline(page_of(broken, load_knowledge())).data
    known = {row[0] for row in data["findings"]}
    assert data["chains"]
    assert all(finding in known for chain in data["chains"] for _, finding in chain["steps"])
    assert "potential" in data["correlation"]["caveat"]


def test_a_finding_of_a_rule_the_pack_does_not_have_keeps_its_own_words(tmp_path: Path) -> None:
    analysis = analyze_files({"kubelet/kubelet.log": b"KAPUT\n"}, PACK, tmp_path)
    data = Outline(page_of(analysis, a_pack(a_rule("test.other", "OTHER")), least=Severity.CRITICAL)).data
    assert data["tables"]["rules"][0]["means"] == analysis.index.findings[0].description
    assert data["tables"]["rules"][0]["steps"] == []
