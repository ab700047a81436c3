"""What a concise answer leaves out, and that it says so."""

from pathlib import Path

import pytest
from tests.support.knowledge.libraries import INSTANCE, a_library, shelve
from tests.support.knowledge.packs import a_pack, a_rule

from affidavit.knowledge import Knowledge
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.nodes.questions.correlate import correlate
from affidavit.nodes.questions.search import CONCISE_QUERY, search
from affidavit.nodes.wire.correlate import CorrelateAnswer, CorrelateRequest
from affidavit.nodes.wire.search import LONGEST_QUERY, SearchRequest
from affidavit.nodes.wire.shared_fields import ResponseFormat

KUBELET, CONTAINERD = "kubelet/kubelet.log", "containerd/containerd-log.txt"
LOGS = {
    KUBELET: b"Jan 15 08:00:00 ip kubelet[1]: NOTED alone\n"
    b"Jan 15 09:00:00 ip kubelet[1]: SHARED by two\n"
    b"Jan 15 10:00:00 ip kubelet[1]: KAPUT\nJan 15 10:20:00 ip kubelet[1]: KAPUT\n",
    CONTAINERD: b"Jan 15 09:00:01 ip containerd[1]: SHARED by two\n",
    "system/other.bin": b"\0\1\2" * 3000,
    "system/core.bin": b"\0\1\2" * 3000,
}


@pytest.fixture
def library(tmp_path: Path) -> Library:
    pack = a_pack(
        a_rule("test.kaput", "KAPUT", name="It is kaput", severity="high"),
        a_rule("test.noted", "NOTED", name="It is noted", severity="info", signal="test.note"),
        a_rule("test.shared", "SHARED", name="It is shared", severity="info", signal="test.share"),
    )
    made = a_library(tmp_path, knowledge=Knowledge(pack=pack, checks=()))
    shelve(made, tmp_path / "in", LOGS)
    return made


def ask(library: Library, form: ResponseFormat) -> CorrelateAnswer:
    return correlate(library, CorrelateRequest(instance_id=INSTANCE, response_format=form))


def test_a_cluster_without_trouble_is_left_out_unless_something_names_it(library: Library) -> None:
    detailed, concise = ask(library, ResponseFormat.DETAILED), ask(library, ResponseFormat.CONCISE)
    assert [cluster.cluster_id for cluster in detailed.clusters] == ["C-001", "C-002", "C-003"]
    assert [cluster.cluster_id for cluster in concise.clusters] == ["C-002", "C-003"]
    assert [shared.cluster_id for shared in concise.correlations] == ["C-002"]
    assert not detailed.truncated and concise.truncated
    assert concise.truncation_info is not None
    info = concise.truncation_info
    assert (info.original_count, info.returned_count) == (3, 2) and "detailed" in info.next_step


def test_files_that_were_not_read_are_counted_where_they_are_not_named(library: Library) -> None:
    detailed, concise = ask(library, ResponseFormat.DETAILED), ask(library, ResponseFormat.CONCISE)
    assert "system/core.bin" in detailed.confidence.gaps[0] and "system/other.bin" in detailed.confidence.gaps[0]
    assert concise.confidence.gaps[0] == "coverage is 50.0 %: not scanned: 2 files"
    assert (concise.confidence.level, concise.confidence.basis) == (
        detailed.confidence.level,
        detailed.confidence.basis,
    )
    assert (concise.coverage_report.skipped_files, concise.coverage_report.skipped_total) == ((), 2)


def test_a_detailed_event_tells_how_it_went_on(library: Library) -> None:
    kaput = ask(library, ResponseFormat.DETAILED).model_dump(mode="json")["timeline"][-1]
    assert (kaput["count"], kaput["timestamp"], kaput["last_seen"]) == (
        2,
        "2026-01-15T10:00:00Z",
        "2026-01-15T10:20:00Z",
    )


@pytest.mark.parametrize("length", [CONCISE_QUERY, CONCISE_QUERY + 1, LONGEST_QUERY])
def test_a_long_query_is_not_repeated_for_each_file(library: Library, length: int) -> None:
    query = "SHARED|" + "x" * (length - 7)
    form = ResponseFormat.CONCISE
    found = search(library, SearchRequest(instance_id=INSTANCE, query=query, response_format=form))
    shown = query if length == CONCISE_QUERY else f"{query[: CONCISE_QUERY - 1]}…"
    assert [result.pattern for result in found.results] == [shown, shown]
