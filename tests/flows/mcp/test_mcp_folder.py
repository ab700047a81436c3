"""A folder of bundles of which some cannot be used: whoever asks is told, not only the log of the server."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.archives.bundles import write_form
from tests.support.knowledge.libraries import INSTANCE, OTHER, an_archive
from tests.support.peers.mcp_client import Talk, in_memory
from tests.support.peers.mcp_server import calls_over

from affidavit.entrypoints.mcp.tools.catalog import NODES

FILES = {"kubelet/kubelet.log": b"Jan 15 10:30:00 ip-10-0-0-1 kubelet[1]: fine\n"}
NO_ARCHIVE = "notes.tar.gz"
NAMELESS = "logs-of-somebody"


@contextmanager
def served(folder: Path) -> Iterator[Talk]:
    with in_memory(calls_over(folder, tools=NODES)) as talk:
        yield talk


def with_two_that_cannot_be_used(folder: Path) -> Path:
    write_form(FILES, folder, "tar.gz", name=NAMELESS)
    (folder / NO_ARCHIVE).write_bytes(b"remember the milk\n")
    return folder


def test_a_bundle_that_cannot_be_used_is_a_gap_with_its_name_and_the_reason(tmp_path: Path) -> None:
    an_archive(with_two_that_cannot_be_used(tmp_path), FILES)
    with served(tmp_path) as talk:
        answer = talk.ask("cluster_health", clusterName="local")
        assert [node["instanceId"] for node in answer["nodes"]] == [INSTANCE]
        gaps = answer["confidence"]["gaps"]
        (nameless,) = [gap for gap in gaps if NAMELESS in gap]
        (no_archive,) = [gap for gap in gaps if NO_ARCHIVE in gap]
        assert "put the instance id into its name" in nameless and "cannot be used: " in no_archive
        assert NO_ARCHIVE in talk.refused("errors", instanceId=OTHER)["error"]
        (tmp_path / NO_ARCHIVE).unlink()
        assert not [
            gap for gap in talk.ask("cluster_health", clusterName="local")["confidence"]["gaps"] if "notes" in gap
        ]


def test_a_node_that_cannot_be_compared_may_lie_in_a_bundle_that_cannot_be_used(tmp_path: Path) -> None:
    an_archive(with_two_that_cannot_be_used(tmp_path), FILES)
    with served(tmp_path) as talk:
        answer = talk.ask("compare_nodes", instanceIds=[INSTANCE, OTHER])
    assert answer["without_bundle"] == [OTHER]
    assert [gap for gap in answer["confidence"]["gaps"] if NO_ARCHIVE in gap]


def test_a_folder_without_a_bundle_is_called_so(tmp_path: Path) -> None:
    with served(tmp_path) as talk:
        for refused in (talk.refused("cluster_health", clusterName="local"), talk.refused("errors", instanceId=OTHER)):
            assert refused["statusCode"] == 404
            assert f"{tmp_path} holds no bundle: put archives" in refused["hint"]
            assert "collect" not in refused["hint"].replace("collector", "")


def test_a_folder_where_no_bundle_can_be_used_says_why(tmp_path: Path) -> None:
    with served(with_two_that_cannot_be_used(tmp_path)) as talk:
        hint = talk.refused("cluster_health", clusterName="local")["hint"]
    assert "holds no bundle that can be used" in hint and NO_ARCHIVE in hint and NAMELESS in hint


def test_what_a_client_reads_first_says_how_to_learn_instance_ids(tmp_path: Path) -> None:
    with served(tmp_path) as talk:
        assert "cluster_health" in talk.tools["quick_triage"].description
        assert "cluster local" in talk.tools["cluster_health"].description
