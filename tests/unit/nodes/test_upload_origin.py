"""A bundle that another node brought never becomes a node's newest evidence, and is shown for what it is."""

from pathlib import Path

import pytest
from tests.support.knowledge.libraries import INSTANCE, OTHER, a_library, an_archive

from affidavit.investigation import analyze
from affidavit.nodes.ingest.bundle_intake import ingest
from affidavit.nodes.ingest.store_bundle import Ingested, Origin
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.nodes.library.object_keys import home_key
from affidavit.nodes.library.pattern_prevalence import baselines
from affidavit.nodes.library.upload_origin import OriginProof, Uploader, origin_of_upload
from affidavit.nodes.questions.errors import errors
from affidavit.nodes.questions.file_listing import list_bundle_files
from affidavit.nodes.questions.quick_triage import quick_triage
from affidavit.nodes.wire.files import ListBundleFilesRequest
from affidavit.nodes.wire.findings_page import ErrorsRequest
from affidavit.nodes.wire.triage import QuickTriageRequest

EXECUTION = "0a1b2c3d-0000-4000-8000-00000000000a"
STRANGER = "0a1b2c3d-0000-4000-8000-00000000000b"
KEY = f"eks_{INSTANCE}_{EXECUTION}.tar.gz"
TRUE = {"kubelet/kubelet.log": b"fine\nKAPUT in truth\n"}
FALSE = {"kubelet/kubelet.log": b"fine\nODD, and nothing else\n"}


def session(name: str) -> str:
    return f"AWS:AROAEXAMPLE0123456789:{name}"


@pytest.mark.parametrize(
    ("principal", "key", "proof"),
    [
        (session(INSTANCE), KEY, OriginProof.PROVEN),
        (session(INSTANCE), "anything.tar.gz", OriginProof.PROVEN),
        (session(OTHER), KEY, OriginProof.UNPROVEN),
        (session("alice"), KEY, OriginProof.PROVEN),
        (session("mi-0123456789abcdef0"), KEY, OriginProof.PROVEN),
        (session("mi-0123456789abcdef0"), "x.tar.gz", OriginProof.UNPROVEN),
        (session("alice"), f"eks_{INSTANCE}_{STRANGER}.tar.gz", OriginProof.UNPROVEN),
        (session("alice"), f"eks_{INSTANCE}_x.tar.gz", None),
        ("AWS:AIDAEXAMPLE0123456789", "x.tar.gz", None),
        ("", "x.tar.gz", OriginProof.UNPROVEN),
    ],
)
def test_a_node_speaks_for_itself_alone(principal: str, key: str, proof: OriginProof | None) -> None:
    uploader = Uploader(principal=principal, node_of={EXECUTION: INSTANCE, STRANGER: OTHER}.get)
    found = origin_of_upload(INSTANCE, key, uploader)
    assert (found and found.proof) == proof
    assert found is None or bool(found.note) == (proof is OriginProof.UNPROVEN)


def brought(library: Library, folder: Path, files: dict[str, bytes], by: str | None) -> Ingested:
    uploader = None if by is None else Uploader(principal=session(by))
    folder.mkdir(exist_ok=True)
    archive = an_archive(folder, files)
    key = f"eks_{INSTANCE}_{folder.name}.tar.gz"
    library.objects.put(key, archive.read_bytes(), purpose="test")
    origin = Origin(cluster="prod", uploader=uploader)
    return ingest(key, library, analyze=analyze, origin=origin, workers=1, keeps_archive=False)


@pytest.mark.parametrize("first", [INSTANCE, None], ids=["brought by the node", "brought by an operator"])
def test_what_another_node_brought_does_not_replace_what_there_is(first: str | None, tmp_path: Path) -> None:
    library = a_library(tmp_path)
    true = brought(library, tmp_path / "one", TRUE, first).marker
    false = brought(library, tmp_path / "two", FALSE, OTHER).marker
    assert library.find(INSTANCE).index_id == true.index_id
    answer = errors(library, ErrorsRequest(instance_id=INSTANCE))
    assert [finding.pattern for finding in answer.findings] == ["It is kaput"]
    assert answer.gaps[0] == (
        f"a newer bundle of unproven origin is not used: it was uploaded by {OTHER}; "
        f"pass index_id {false.index_id} to look at it"
    )
    triage = quick_triage(library, QuickTriageRequest(instance_id=INSTANCE))
    assert any("unproven origin" in gap for gap in triage.confidence.gaps)


def test_what_another_node_brought_alone_is_shown_for_what_it_is(tmp_path: Path) -> None:
    library = a_library(tmp_path)
    false = brought(library, tmp_path / "two", FALSE, OTHER).marker
    doubt = f"origin: unproven: this bundle says that it is from {INSTANCE}, but it was uploaded by {OTHER}"
    assert errors(library, ErrorsRequest(instance_id=INSTANCE)).gaps[0] == doubt
    triage = quick_triage(library, QuickTriageRequest(instance_id=INSTANCE)).model_dump(mode="json", by_alias=True)
    assert (triage["bundle"]["origin"], doubt in triage["confidence"]["gaps"]) == ("unproven", True)
    listed = list_bundle_files(library, ListBundleFilesRequest(instance_id=INSTANCE))
    assert listed.model_dump(mode="json", by_alias=True)["origin"] == "unproven"
    assert library.objects.head(home_key(INSTANCE)) is None, "the layout that others know is not claimed"
    assert false.home.endswith(false.bundle_id)
    assert baselines(library.state, "prod") == {}, "nor does it count for the cluster"


def test_the_node_that_brings_the_same_bundle_proves_it(tmp_path: Path) -> None:
    library = a_library(tmp_path)
    brought(library, tmp_path / "two", TRUE, OTHER)
    assert library.find(INSTANCE).is_unproven
    again = brought(library, tmp_path / "one", TRUE, INSTANCE)
    assert (again.is_new, library.find(INSTANCE).origin) == (True, OriginProof.PROVEN)
    assert not [gap for gap in errors(library, ErrorsRequest(instance_id=INSTANCE)).gaps if "origin" in gap]
    brought(library, tmp_path / "three", TRUE, OTHER)
    assert library.find(INSTANCE).origin is OriginProof.PROVEN, "and nobody takes that back"


def test_a_bundle_that_an_operator_brought_says_nothing_of_its_origin(tmp_path: Path) -> None:
    library = a_library(tmp_path)
    brought(library, tmp_path / "one", TRUE, None)
    listed = list_bundle_files(library, ListBundleFilesRequest(instance_id=INSTANCE))
    assert "origin" not in listed.model_dump(mode="json", by_alias=True)
