"""Findings that checks measure, for files of any name."""

from pathlib import Path

from tests.support.archives.bundles import analyze_at, write_form
from tests.support.knowledge.packs import a_pack, a_rule

from affidavit.checks.check import Check
from affidavit.evidence.finding import LISTED
from affidavit.index.findings_index import index_from_json, index_to_json
from affidavit.knowledge import Knowledge, load_knowledge

OWN_CHECK = Check.model_validate(
    {
        "id": "custom.large-environment",
        "name": "Large environment of our own",
        "means": "A process of ours has many environment variables.",
        "severity": "low",
        "because": "The test says so.",
        "signal": "custom.large-environment",
        "reads": ["custom/environments.txt"],
        "first_steps": ["Look at the test."],
        "compute": "processes.large-environments",
        "arguments": {"above": 10},
        "samples": {
            "fires": [
                {
                    "files": {"custom/environments.txt": "1 99\n"},
                    "shows": [{"in": "custom/environments.txt", "line": 1}],
                }
            ],
            "quiet": [{"files": {"custom/environments.txt": "1 2\n"}}],
        },
    }
)


def test_a_check_on_a_file_outside_the_layout_gives_a_finding_of_an_unknown_component(tmp_path: Path) -> None:
    knowledge = Knowledge(pack=a_pack(a_rule("test.kaput", "KAPUT")), checks=(OWN_CHECK,))
    bundle = write_form({"kubelet/kubelet.log": b"x\n", "custom/environments.txt": b"7 99\n"}, tmp_path, "directory")
    [finding] = analyze_at(bundle, knowledge, tmp_path / "work").index.findings
    assert (finding.rule, finding.component, finding.evidence.excerpt) == (OWN_CHECK.id, "unknown", "7 99")


def test_of_many_lines_all_count_and_the_first_are_listed(tmp_path: Path) -> None:
    knowledge = Knowledge(pack=a_pack(a_rule("test.kaput", "KAPUT")), checks=(OWN_CHECK,))
    files = {"kubelet/kubelet.log": b"x\n", "custom/environments.txt": b"7 99\n" * 25_000}
    [finding] = analyze_at(write_form(files, tmp_path, "directory"), knowledge, tmp_path / "work").index.findings
    assert (finding.count, finding.occurrences_total, finding.occurrences_listed) == (25_000, 25_000, LISTED + 1)
    assert [each.line for each in finding.additional_occurrences] == list(range(2, LISTED + 2))


def test_half_a_character_in_what_a_check_reads_leaves_an_index_that_can_be_written(tmp_path: Path) -> None:
    files = {
        "kubelet/kubelet.log": b"x\n",
        "ipamd/ipam.json": rb'{"allocations": [{"containerID": "\ud800a", "ipv4": "10.0.0.3"}, '
        rb'{"containerID": "b", "ipv4": "\udfff"}, {"containerID": "c", "ipv4": "\udfff"}]}',
        "ipamd/enis.json": rb'{"ENIs": {"e": {"AvailableIPv4Cidrs": {"c": {"IPAddresses": '
        rb'{"10.0.0.3": {"IPAMKey": {"containerID": "\ud83d"}}}}}}}}',
    }
    index = analyze_at(write_form(files, tmp_path, "directory"), load_knowledge(), tmp_path / "work").index
    [detail] = [finding.detail for finding in index.findings if finding.rule.startswith("cni.") and finding.detail]
    assert detail == "10.0.0.3 belongs to container \ufffda here and to \ufffd in enis.json"
    assert index_from_json(index_to_json(index)) == index
