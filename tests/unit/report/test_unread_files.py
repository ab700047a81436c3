"""A bundle that was read in part says so; one that holds links, which hold nothing, was read whole."""

from pathlib import Path

import pytest
from tests.browser.pages import page_of
from tests.support.archives.bundles import analyze_at
from tests.support.knowledge.packs import a_pack, a_rule

from affidavit.entrypoints.report.unread_files import loss_line, losses
from affidavit.knowledge import Knowledge

PACK = a_pack(a_rule("test.kaput", "KAPUT"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    log = tmp_path / "node" / "kubelet" / "kubelet.log"
    log.parent.mkdir(parents=True)
    log.write_text("all is well\n")
    return tmp_path / "node"


def test_a_link_is_refused_and_is_no_loss(folder: Path, tmp_path: Path) -> None:
    (folder / "kubelet" / "latest.log").symlink_to("kubelet.log")
    analysis = analyze_at(folder, PACK, tmp_path / "work")
    assert [file.status for file in analysis.manifest.expected_files] == ["extracted", "skipped"]
    assert loss_line(analysis.manifest, analysis.index.coverage) == ""


def test_a_rotated_log_that_is_cut_off_is_a_loss_and_told_once(folder: Path, tmp_path: Path) -> None:
    (folder / "kubelet" / "old.log.gz").write_bytes(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b")
    analysis = analyze_at(folder, PACK, tmp_path / "work")
    lost = losses(analysis.manifest, analysis.index.coverage)
    assert lost == ["kubelet/old.log.gz: the compressed data ends too early"]
    assert loss_line(analysis.manifest, analysis.index.coverage).startswith(f"INCOMPLETE: {lost[0]}. ")
    assert list(analysis.index.gaps).count(lost[0]) == 1
    page = page_of(analysis, Knowledge(pack=PACK, checks=()))
    assert f'"incomplete":"INCOMPLETE: {lost[0]}. ' in page
    assert '"isCutOff":false' in page
