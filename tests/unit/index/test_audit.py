"""An index that was touched anywhere does not verify, whether or not its id was made to fit again."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st
from tests.support.archives.bundles import NoProgress

from affidavit.bundle.manifest import manifest_to_json
from affidavit.entrypoints.cli.exit_codes import Exit
from affidavit.entrypoints.cli.verify.index import VerifyOptions, run_verify
from affidavit.evaluation.generator import BundleSpec, Form, Layout, generate, write
from affidavit.index.content_id import canonical_json, content_id
from affidavit.index.findings_index import index_to_json
from affidavit.investigation import Analysis, Verification, analyze, verify
from affidavit.knowledge import load_knowledge

Index = dict[str, Any]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    spec = BundleSpec(layout=Layout.AL2023, faults=("oom", "probes"), noise_lines=40)
    return write(generate(spec), tmp_path_factory.mktemp("bundle"), Form.TAR_GZ)


@pytest.fixture(scope="module")
def honest(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    folder = tmp_path_factory.mktemp("work")
    return analyze(bundle, knowledge=load_knowledge(), workspace=folder, progress=NoProgress(), workers=1)


def verified(index: Index, bundle: Path, folder: Path) -> Verification:
    text = json.dumps(index).encode()
    return verify(text, bundle, knowledge=load_knowledge(), workspace=folder, progress=NoProgress())


def first(index: Index) -> Index:
    return index["findings"][0]


def repeated(index: Index) -> Index:
    return next(finding for finding in index["findings"] if finding["additional_occurrences"])


def set_to(path: str, value: object) -> Callable[[Index], None]:
    def tamper(index: Index) -> None:
        *parents, last = path.split(".")
        target: Any = index
        for part in parents:
            target = target[int(part)] if part.isdigit() else target[part]
        target[last] = value

    return tamper


def swapped_ids(index: Index) -> None:
    one, other = index["findings"][:2]
    one["finding_id"], other["finding_id"] = other["finding_id"], one["finding_id"]


def one_more(index: Index) -> None:
    added = copy.deepcopy(first(index))
    added["rule"], added["finding_id"] = "kernel.made-up", "F-999"
    index["findings"].append(added)


def doubled(index: Index) -> None:
    index["findings"].append(copy.deepcopy(first(index)))


TAMPERINGS: dict[str, Callable[[Index], object]] = {
    "count raised": set_to("findings.0.count", 4711),
    "count lowered": lambda index: repeated(index).update(count=1),
    "severity lowered": set_to("findings.0.severity", "info"),
    "severity raised": lambda index: index["findings"][-1].update(severity="critical"),
    "another name": set_to("findings.0.pattern", "Nothing to see here"),
    "another meaning": set_to("findings.0.description", "All is well."),
    "another rule": set_to("findings.0.rule", "kubelet.other"),
    "another component": set_to("findings.0.component", "containerd"),
    "another signal": set_to("findings.0.signal", "memory.none"),
    "first seen earlier": set_to("findings.0.first_seen", "2020-01-01T00:00:00Z"),
    "last seen later": set_to("findings.0.last_seen", "2030-01-01T00:00:00Z"),
    "no times": lambda index: first(index).update(first_seen=None, last_seen=None),
    "time of the evidence": set_to("findings.0.evidence.timestamp", "2020-01-01T00:00:00Z"),
    "one finding deleted": lambda index: index["findings"].pop(0),
    "the last finding deleted": lambda index: index["findings"].pop(),
    "all findings deleted": lambda index: index["findings"].clear(),
    "all findings deleted and the summary made to fit": lambda index: (
        index["findings"].clear(),
        index["summary"].update(dict.fromkeys(index["summary"], 0)),
    ),
    "a finding added": one_more,
    "a finding twice": doubled,
    "ids swapped": swapped_ids,
    "findings in another order": lambda index: index["findings"].reverse(),
    "occurrences deleted": lambda index: repeated(index)["additional_occurrences"].clear(),
    "an occurrence elsewhere": lambda index: repeated(index)["additional_occurrences"][0].update(line=1),
    "excerpt shortened": lambda index: first(index)["evidence"].update(excerpt=first(index)["evidence"]["excerpt"][:9]),
    "confirmed by more": set_to("findings.0.confirmation", {"signals": 9, "confirmed": True, "sources": ["a"]}),
    "a note added": set_to("findings.0.severity_note", "Planned."),
    "summary of nothing": lambda index: index["summary"].update(critical=0, total=0),
    "coverage of all": lambda index: index["coverage"].update(
        coverage_pct=100.0, skipped_files=[], skipped_total=0, files_scanned=index["coverage"]["total_files"]
    ),
    "fewer files": lambda index: index["coverage"].update(total_files=1, files_scanned=1),
    "a suppression made up": lambda index: index["suppressed"].append(
        {
            "suppression": "made-up",
            "rule": first(index)["rule"],
            "pattern": first(index)["pattern"],
            "reason": "A test of ours.",
            "count": 1,
            "first_seen": None,
            "last_seen": None,
            "evidence": first(index)["evidence"],
        }
    ),
    "gaps deleted": lambda index: index["gaps"].clear() if index["gaps"] else index["gaps"].append("made up"),
    "a gap added": lambda index: index["gaps"].append("nothing was wrong"),
    "another node": set_to("instanceId", "i-0123456789abcdef0"),
    "another clock": lambda index: index["clock"].update(collected_at="2020-01-01T00:00:00Z"),
    "another bundle's key": set_to("findings.0.evidence.full_key", "eks_i-0123456789abcdef0/extracted/kernel/dmesg"),
    "another manifest": set_to("manifest_ref", "eks_i-0123456789abcdef0/manifest.json"),
    "a field that nobody knows": set_to("mood", "healthy"),
    "a field in a finding that nobody knows": set_to("findings.0.is_harmless", True),
    "another bundle's digest": set_to("bundle_digest", "0" * 64),
}


@pytest.mark.parametrize("name", TAMPERINGS)
@pytest.mark.parametrize("is_made_to_fit", [False, True], ids=["as it is", "id made to fit"])
def test_a_tampered_index_does_not_hold(
    name: str, is_made_to_fit: bool, honest: Analysis, bundle: Path, tmp_path: Path
) -> None:
    index = json.loads(index_to_json(honest.index))
    before = copy.deepcopy(index)
    TAMPERINGS[name](index)
    assert index != before
    if is_made_to_fit:
        index["index_id"] = content_id(index)
    found = verified(index, bundle, tmp_path)
    assert not found.holds
    assert found.fallen or found.broken or found.is_other_bundle


def test_an_honest_index_holds_and_all_of_it_was_derived_again(honest: Analysis, bundle: Path, tmp_path: Path) -> None:
    found = verified(json.loads(index_to_json(honest.index)), bundle, tmp_path)
    assert (found.holds, found.unproven, found.fallen) == (True, "", ())


def test_the_first_claim_that_fell_is_named(honest: Analysis, bundle: Path, tmp_path: Path) -> None:
    index = json.loads(index_to_json(honest.index))
    first(index)["count"] = 4711
    found = verified(index, bundle, tmp_path)
    assert found.fallen[0].startswith(f"F-001 ({first(index)['pattern']}, ")
    assert "count is said to be 4711, the bundle gives" in found.fallen[0]


@pytest.mark.parametrize("field", ["rules_version", "indexer_version"])
def test_what_cannot_be_derived_again_is_said_and_never_passes(
    field: str, honest: Analysis, bundle: Path, tmp_path: Path
) -> None:
    index = json.loads(index_to_json(honest.index))
    index[field] = "another"
    index["index_id"] = content_id(index)
    (tmp_path / "index.json").write_text(json.dumps(index))
    assert run_verify(VerifyOptions(index=tmp_path / "index.json", bundle=str(bundle))) is Exit.UNAVAILABLE


def test_an_index_of_before_there_was_a_content_id_is_still_read(
    honest: Analysis, bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = json.loads(index_to_json(honest.index))
    del index["bundle_digest"], index["indexer_version"]
    (tmp_path / "index.json").write_text(json.dumps(index))
    assert run_verify(VerifyOptions(index=tmp_path / "index.json", bundle=str(bundle))) is Exit.UNAVAILABLE
    assert "made by indexer version an earlier one" in " ".join(capsys.readouterr().out.split())


def test_another_bundle_is_named_in_one_line(
    honest: Analysis, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write(generate(BundleSpec(layout=Layout.AL2, faults=("dns",), seed=9)), tmp_path / "other", Form.TAR_GZ)
    (tmp_path / "index.json").write_bytes(index_to_json(honest.index))
    assert run_verify(VerifyOptions(index=tmp_path / "index.json", bundle=str(other), no_color=True)) is Exit.FOUND
    assert "is another bundle than the one this index was made from." in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("sha256", "0" * 64),
        ("size_bytes", 1),
        ("status", "skipped"),
        ("relative_path", "x.log"),
        ("key", "eks_i-0aaaaaaaaaaaaaaaa/extracted/another.log"),
    ],
)
def test_a_tampered_manifest_beside_the_index_is_named(
    field: str, value: object, honest: Analysis, bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = json.loads(manifest_to_json(honest.manifest))
    manifest["expected_files"][3][field] = value
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "findings_index.json").write_bytes(index_to_json(honest.index))
    assert run_verify(VerifyOptions(index=tmp_path / "findings_index.json", bundle=str(bundle))) is Exit.FOUND
    assert "manifest: " in capsys.readouterr().out


@pytest.mark.parametrize(("field", "value"), [("instanceId", "i-0aaaaaaaaaaaaaaaa"), ("problems", ["cut off"])])
def test_a_manifest_about_another_node_or_with_other_damage_is_named(
    field: str, value: object, honest: Analysis, bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = json.loads(manifest_to_json(honest.manifest)) | {field: value}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "findings_index.json").write_bytes(index_to_json(honest.index))
    assert run_verify(VerifyOptions(index=tmp_path / "findings_index.json", bundle=str(bundle))) is Exit.FOUND
    assert f"manifest: {field}" in capsys.readouterr().out


def test_the_digest_of_the_archive_is_held_against_the_bundle(
    honest: Analysis, bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = json.loads(manifest_to_json(honest.manifest))
    manifest["source_archive_sha256"] = "0" * 64
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "findings_index.json").write_bytes(index_to_json(honest.index))
    assert run_verify(VerifyOptions(index=tmp_path / "findings_index.json", bundle=str(bundle))) is Exit.FOUND
    assert "source_archive_sha256" in capsys.readouterr().out


documents = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.integers(0, 1000).map(lambda n: n / 10)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abcXYZ_", max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(documents)
def test_the_canonical_form_is_that_of_rfc_8785(document: Any) -> None:
    assert canonical_json(document) == rfc8785.dumps(document)
