"""Bundles taken into a library: once, whole, beside each other, whatever goes wrong on the way."""

import json
import multiprocessing
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.support.archives.bundles import write_form
from tests.support.clock import FakeClock
from tests.support.faults import Boundaries, FailingObjectStore, FailingTable, outage, sigkill
from tests.support.knowledge.libraries import (
    INSTANCE,
    OTHER,
    a_library,
    an_archive,
    shelve,
    small_knowledge,
    take_in,
)
from tests.support.knowledge.packs import a_pack, a_rule

from affidavit.adapters.local.objects import DirectoryObjectStore
from affidavit.adapters.local.table import SqliteTable
from affidavit.errors import AffidavitError, InputRefused, NotFound, UpstreamFailed
from affidavit.evidence.citation_check import check
from affidavit.investigation import analyze
from affidavit.knowledge import Knowledge
from affidavit.nodes.ingest.bundle_intake import ingest
from affidavit.nodes.ingest.folder_bundles import ingest_directory
from affidavit.nodes.ingest.ingest_records import record_of
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.nodes.library.pattern_prevalence import baselines
from affidavit.nodes.questions.errors import errors
from affidavit.nodes.questions.node_comparison import cluster_health
from affidavit.nodes.questions.validate import validate
from affidavit.nodes.wire.findings_page import ErrorsRequest
from affidavit.nodes.wire.node_comparison import ClusterHealthRequest
from affidavit.nodes.wire.validate import ValidateRequest
from affidavit.ports.node_directory import Node

FIRST = {"kubelet/kubelet.log": b"fine\nJan 15 10:00:00 ip kubelet[1]: KAPUT one\n", "var_log/x.log": b"ODD\n"}
SECOND = {"kubelet/kubelet.log": b"Jan 15 11:00:00 ip kubelet[1]: DEAD two\nKAPUT\n", "var_log/x.log": b"calm\n"}


def keys(library: Library) -> list[str]:
    return [stored.key for stored in library.objects.list("")]


def all_evidence_holds(library: Library, index_id: str | None = None) -> bool:
    shelf = library.open(INSTANCE, index_id)
    return bool(shelf.index.findings) and all(check(f.evidence, shelf.lines).holds for f in shelf.index.findings)


def test_a_first_bundle_fills_the_layout_that_other_programs_know(tmp_path: Path) -> None:
    library = a_library(tmp_path)
    shelve(library, tmp_path / "in", FIRST)
    own = f"eks_{INSTANCE}"
    assert {
        f"{own}/manifest.json",
        f"{own}/findings_index.json",
        f"{own}/{INSTANCE}_eks-log-collector.tar.gz",
        f"{own}/extracted/kubelet/kubelet.log",
        f"{own}/extracted/var_log/x.log",
        f"{own}/metadata/region.txt",
    } <= set(keys(library))
    assert library.objects.get(f"{own}/metadata/region.txt") == b"eu-west-1\n"
    assert all_evidence_holds(library)


def test_the_same_archive_again_writes_nothing(tmp_path: Path) -> None:
    library = a_library(tmp_path)
    archive = an_archive(tmp_path / "in", FIRST)
    first = take_in(library, archive)
    before = {key: library.objects.get(key) for key in keys(library)}
    again = take_in(library, archive)
    copy = an_archive(tmp_path / "copy", FIRST)
    from_copy = take_in(library, copy)
    assert (again.is_new, from_copy.is_new) == (False, False)
    assert again.marker == from_copy.marker == first.marker
    assert {key: library.objects.get(key) for key in keys(library)} == before


def test_a_second_bundle_of_an_instance_leaves_what_was_cited_true(tmp_path: Path) -> None:
    library = a_library(tmp_path)
    old = shelve(library, tmp_path / "one", FIRST).marker
    stored = {key: library.objects.get(key) for key in keys(library)}
    new = shelve(library, tmp_path / "two", SECOND).marker
    assert {key: library.objects.get(key) for key in stored} == stored
    assert new.home == f"eks_{INSTANCE}/bundles/{new.bundle_id}"
    assert library.open(INSTANCE).index.index_id == new.index_id
    assert all_evidence_holds(library, old.index_id)
    assert all_evidence_holds(library, new.index_id)
    pinned = errors(library, ErrorsRequest(instance_id=INSTANCE, index_id=old.index_id))
    assert [finding.pattern for finding in pinned.findings] == ["It is kaput", "It is odd"]


def test_an_unknown_pin_is_refused_with_what_there_is(tmp_path: Path) -> None:
    library = a_library(tmp_path)
    marker = shelve(library, tmp_path / "in", FIRST).marker
    with pytest.raises(NotFound, match=marker.index_id):
        errors(library, ErrorsRequest(instance_id=INSTANCE, index_id="ix-never"))


def test_other_rules_give_another_index_of_the_same_stored_bundle(tmp_path: Path) -> None:
    library = a_library(tmp_path)
    archive = an_archive(tmp_path / "in", FIRST)
    old = take_in(library, archive).marker
    other = Knowledge(pack=a_pack(a_rule("test.fine", "fine", name="It is fine")), checks=())
    newer = Library(objects=library.objects, state=library.state, clock=library.clock, knowledge=other)
    new = take_in(newer, archive).marker
    assert new.index_id != old.index_id
    assert (new.bundle_id, new.home) == (old.bundle_id, old.home)
    assert {marker.index_id for marker in newer.markers(INSTANCE)} == {old.index_id, new.index_id}
    assert all_evidence_holds(newer, old.index_id)
    assert all_evidence_holds(newer, new.index_id)


def test_a_bundle_that_another_program_stored_is_read_and_never_replaced(tmp_path: Path) -> None:
    library = a_library(tmp_path)
    own = f"eks_{INSTANCE}"
    old = {"findings": [{"severity": "warning", "pattern": "Old", "file": "kubelet/kubelet.log", "sample": "was here"}]}
    library.objects.put(f"{own}/findings_index.json", json.dumps(old).encode(), purpose="test")
    library.objects.put(f"{own}/extracted/kubelet/kubelet.log", b"was here\n", purpose="test")
    foreign = errors(library, ErrorsRequest(instance_id=INSTANCE))
    assert [(f.severity, f.pattern) for f in foreign.findings] == [("medium", "Old")]
    new = shelve(library, tmp_path / "in", FIRST).marker
    assert new.home != own
    assert library.objects.get(f"{own}/extracted/kubelet/kubelet.log") == b"was here\n"
    assert errors(library, ErrorsRequest(instance_id=INSTANCE)).index_id == new.index_id
    assert errors(library, ErrorsRequest(instance_id=INSTANCE, index_id=foreign.index_id)).findings == foreign.findings


def test_two_version_1_indexes_are_not_taken_for_one(tmp_path: Path) -> None:
    library = a_library(tmp_path)
    key = f"eks_{INSTANCE}/findings_index.json"
    ids: list[str] = []
    for pattern in ("Old", "Older still"):
        text = json.dumps({"findings": [{"severity": "info", "pattern": pattern, "file": "x.log"}]})
        library.objects.put(key, text.encode(), purpose="test")
        ids.append(errors(library, ErrorsRequest(instance_id=INSTANCE)).index_id)
    assert ids[0] != ids[1]
    with pytest.raises(NotFound):
        errors(library, ErrorsRequest(instance_id=INSTANCE, index_id=ids[0]))


def test_an_archive_in_the_store_is_named_by_its_key(tmp_path: Path) -> None:
    library = a_library(tmp_path)
    key = f"eks_{INSTANCE}/{INSTANCE}_eks-log-collector.tar.gz"
    library.objects.put_file(key, an_archive(tmp_path / "in", FIRST), purpose="test")
    done = take_in(library, key)
    assert done.is_new
    record = record_of(library.state, INSTANCE, key)
    assert record is not None
    assert record.index_id == done.marker.index_id


def test_a_bundle_under_another_nodes_name_is_refused(tmp_path: Path) -> None:
    library = a_library(tmp_path)
    files = {**FIRST, "system/instance-id.txt": OTHER.encode()}
    key = f"eks_{INSTANCE}/x.tar.gz"
    library.objects.put_file(key, an_archive(tmp_path / "in", files), purpose="test")
    with pytest.raises(InputRefused, match=OTHER):
        take_in(library, key)
    assert keys(library) == [key]


def test_a_bundle_of_nobody_is_refused_with_what_to_do(tmp_path: Path) -> None:
    library = a_library(tmp_path)
    with pytest.raises(InputRefused) as refused:
        take_in(library, write_form(FIRST, tmp_path / "in", "tar.gz", name="bundle"))
    assert "instance id" in refused.value.hint


def test_a_bad_archive_says_why_and_leaves_that_for_those_who_wait(tmp_path: Path) -> None:
    library = a_library(tmp_path)
    key = f"eks_{INSTANCE}/broken.tar.gz"
    library.objects.put(key, b"\x1f\x8b not really", purpose="test")
    with pytest.raises(AffidavitError):
        take_in(library, key)
    record = record_of(library.state, INSTANCE, key)
    assert record is not None
    assert record.is_failure
    assert record.reason
    with pytest.raises(NotFound, match="the last one failed"):
        library.open(INSTANCE)
    library.objects.put_file(key, an_archive(tmp_path / "in", FIRST), purpose="test")
    assert take_in(library, key).is_new


def test_an_archive_that_is_too_large_is_refused_unread_and_that_is_told(tmp_path: Path) -> None:
    library = a_library(tmp_path)
    archive, key = an_archive(tmp_path / "in", FIRST), f"eks_{INSTANCE}/{INSTANCE}_logs.tar.gz"
    library.objects.put_file(key, archive, purpose="test")
    size = archive.stat().st_size
    calls: list[Path] = []
    with pytest.raises(InputRefused, match="at most 0 are read") as refused:
        ingest(key, library, analyze=lambda path, **_: calls.append(path), most_bytes=size - 1)
    assert "MAX_UPLOAD_MIB" in refused.value.hint
    assert calls == []
    told = record_of(library.state, INSTANCE, key)
    assert told is not None and told.is_failure and told.reason == str(refused.value)
    assert ingest(key, library, analyze=analyze, most_bytes=size, workers=1).is_new


def test_an_outage_is_no_failure_of_the_bundle(tmp_path: Path) -> None:
    plain = DirectoryObjectStore(tmp_path / "objects")
    key = f"eks_{INSTANCE}/x.tar.gz"
    plain.put_file(key, an_archive(tmp_path / "in", FIRST), purpose="test")
    boundaries = Boundaries(only=lambda boundary: "put_file" in boundary)
    library = a_library(tmp_path, objects=FailingObjectStore(plain, boundaries))
    with pytest.raises(UpstreamFailed):
        take_in(library, key)
    assert record_of(library.state, INSTANCE, key) is None


def _ingest_failing(folder: Path, archive: Path, at: int | None, act: object) -> Boundaries:
    """In this process; the bundle before it was ingested without trouble."""
    boundaries = Boundaries(at=at, act=act)  # type: ignore[arg-type]  # outage or sigkill
    state = SqliteTable(folder / "state.db", "state", FakeClock(step=timedelta(seconds=1)))
    objects = FailingObjectStore(DirectoryObjectStore(folder / "objects"), boundaries)
    take_in(a_library(folder, objects=objects, state=FailingTable(state, boundaries)), archive)
    return boundaries


def _child(folder: Path, archive: Path, at: int) -> None:
    _ingest_failing(folder, archive, at, sigkill)


@pytest.mark.parametrize("has_first", [False, True], ids=["first bundle", "second bundle"])
def test_an_ingest_that_dies_at_any_call_shows_nothing_half_done_and_is_completed_by_the_next(
    tmp_path: Path, has_first: bool
) -> None:
    first, second = an_archive(tmp_path / "one", FIRST), an_archive(tmp_path / "two", SECOND)
    trial = tmp_path / "trial"
    if has_first:
        take_in(a_library(trial), first)
    total = len(_ingest_failing(trial, second, None, outage).reached)
    assert total > 20
    for at in range(total):
        folder = tmp_path / f"run-{at}"
        if has_first:
            take_in(a_library(folder), first)
        with pytest.raises(UpstreamFailed):
            _ingest_failing(folder, second, at, outage)
        _assert_whole(folder, second, 1 if has_first else 0)


@pytest.mark.parametrize("at", [3, 9, 14, 19, 23, 27, 31, 35])
def test_a_killed_ingest_is_completed_by_the_next(tmp_path: Path, at: int) -> None:
    archive = an_archive(tmp_path / "in", SECOND)
    child = multiprocessing.get_context("spawn").Process(target=_child, args=(tmp_path, archive, at))
    child.start()
    child.join(60)
    assert child.exitcode == -9
    _assert_whole(tmp_path, archive, 0)


def _assert_whole(folder: Path, archive: Path, before: int) -> None:
    library = a_library(folder)
    for marker in library.markers(INSTANCE):
        # Whatever is visible is complete.
        assert all_evidence_holds(library, marker.index_id)
        assert validate(library, ValidateRequest(instance_id=INSTANCE, index_id=marker.index_id)).complete
    take_in(library, archive)
    assert len(library.markers(INSTANCE)) == before + 1
    assert all_evidence_holds(library)
    assert validate(library, ValidateRequest(instance_id=INSTANCE)).complete
    counted = baselines(library.state, "prod")
    assert counted["It is dead"].bundles == 1
    assert counted["It is kaput"].bundles == before + 1


def test_duplicates_at_the_same_time_do_no_harm(tmp_path: Path) -> None:
    archive = an_archive(tmp_path / "in", FIRST)
    library = a_library(tmp_path)
    answers: list[object] = []
    threads = [threading.Thread(target=lambda: answers.append(take_in(library, archive))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 4
    assert sum(answer.is_new for answer in answers) == 1  # type: ignore[attr-defined]
    assert len(library.markers(INSTANCE)) == 1
    assert all_evidence_holds(library)
    assert baselines(library.state, "prod")["It is kaput"].bundles == 1


def test_a_pattern_counts_once_for_a_bundle_however_often_it_is_read_or_indexed(tmp_path: Path) -> None:
    library = a_library(tmp_path)
    archive = an_archive(tmp_path / "in", FIRST)
    take_in(library, archive)
    rules = (*small_knowledge().pack.rules, a_rule("test.calm", "fine", name="All is fine"))
    newer = replace(small_knowledge(), pack=a_pack(*rules))
    take_in(Library(objects=library.objects, state=library.state, clock=library.clock, knowledge=newer), archive)
    for _ in range(3):
        errors(library, ErrorsRequest(instance_id=INSTANCE, cluster_context="prod"))
    counted = {pattern: found.bundles for pattern, found in baselines(library.state, "prod").items()}
    assert counted == {"It is kaput": 1, "It is odd": 1, "All is fine": 1}


def test_a_folder_of_bundles_is_taken_in_once_and_a_bad_one_stops_none(tmp_path: Path) -> None:
    an_archive(tmp_path, FIRST)
    an_archive(tmp_path, SECOND, instance=OTHER, form="directory")
    (tmp_path / "broken.tgz").write_bytes(b"no archive")
    (tmp_path / "notes.txt").write_text("not a bundle")
    library = a_library(tmp_path / ".affidavit")
    done = ingest_directory(tmp_path, library, analyze=analyze, workers=1)
    assert {each.marker.instance_id for each in done.ingested} == {INSTANCE, OTHER}
    assert [each.path.name for each in done.refused] == ["broken.tgz"]
    again = ingest_directory(tmp_path, library, analyze=_must_not_be_called, workers=1)  # type: ignore[arg-type]
    assert [each.is_new for each in again.ingested] == [False, False]


def _must_not_be_called(path: Path, **_: object) -> None:
    if path.name != "broken.tgz":
        raise AssertionError(f"{path} was read again")
    raise InputRefused("still broken")


class _Fleet:
    """A directory that knows one node."""

    def region_of(self, instance_id: str) -> str | None:
        return "eu-west-1" if instance_id == INSTANCE else None

    def cluster_of(self, instance_id: str, *, region: str) -> str | None:
        return "prod" if (instance_id, region) == (INSTANCE, "eu-west-1") else None

    def nodes_of(self, cluster: str, *, region: str) -> list[Node]:
        nodes = [INSTANCE, OTHER] if (cluster, region) == ("prod", "eu-west-1") else []
        return [_node(each) for each in nodes]


def _node(instance_id: str) -> Node:
    place = {"cluster": "prod", "region": "eu-west-1", "zone": "eu-west-1a"}
    return Node(instance_id=instance_id, instance_type="m5.large", state="running", is_healthy=True, **place)


def test_the_directory_tells_the_cluster_that_nobody_named_and_which_nodes_lack_a_bundle(tmp_path: Path) -> None:
    library = a_library(tmp_path)
    library.directory = _Fleet()
    done = ingest(an_archive(tmp_path / "in", FIRST), library, analyze=analyze, workers=1)
    assert done.marker.cluster == "prod"
    assert baselines(library.state, "prod")["It is kaput"].bundles == 1
    assert library.objects.get(f"eks_{INSTANCE}/metadata/region.txt") == b"eu-west-1\n"
    health = cluster_health(library, ClusterHealthRequest(cluster_name="prod"))
    assert ([node.instance_id for node in health.nodes], health.without_bundle) == ([INSTANCE], [OTHER])
    assert any(OTHER in gap for gap in health.confidence.gaps)
