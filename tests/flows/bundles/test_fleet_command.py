"""`affidavit fleet ask` as a person types it: on this machine, and in Athena."""

import json
from datetime import datetime
from pathlib import Path

import pytest
from tests.support.knowledge.libraries import an_archive
from tests.support.peers.athena import Athena, serving
from tests.support.processes.command import affidavit

from affidavit.bootstrap import OBJECTS
from affidavit.fleet.parquet import parquet_of
from affidavit.fleet.schema import NODES


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for cluster, critical in (("prod", 3), ("test", 0)):
        moment = datetime(2026, 1, 15, 10)
        row = (f"i-{cluster}", "x", "b", moment, moment, "1", 1, 1, 100.0, 0, critical, 0, 0, 0, 0)
        folder = tmp_path / OBJECTS / NODES.prefix / f"cluster={cluster}" / "dt=2026-01-15"
        folder.mkdir(parents=True)
        (folder / "x.parquet").write_bytes(parquet_of(NODES, [row]))
    return tmp_path


def test_a_cluster_is_asked_on_this_machine_and_in_athena_with_the_same_answer(data: Path) -> None:
    question = ("fleet", "ask", "worst-nodes", "--cluster", "prod", "--since", "2026-01-01")
    here = affidavit(*question, env={"AFFIDAVIT_DATA": str(data)})
    assert here.returncode == 0, here.stderr
    (row,) = [json.loads(line) for line in here.stdout.splitlines()]
    assert (row["instance_id"], row["critical"]) == ("i-prod", 3)
    assert "1 index(es) asked" in here.stderr
    with serving(Athena(folder=data / OBJECTS)) as url:
        aws = {"AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
        there = affidavit(*question, "--workgroup", "people", env=aws)
    assert (there.stdout, there.stderr) == (here.stdout, here.stderr)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("worst-nodes", "--cluster", "porduction"), "no index of porduction"),
        (("--sql", "SELECT 1", "--cluster", "prod"), "named questions"),
        (("worst-nodes", "--workgroup", "people"), "--cluster NAME"),
        ((), "ask one thing"),
        (("--sql", "SELECT no_such_column FROM nodes"), 'column "no_such_column" not found'),
        (("--sql", "SELECT critical + instance_id FROM nodes"), "the question cannot be asked"),
    ],
)
def test_a_question_that_would_mislead_is_refused(arguments: tuple[str, ...], said: str, data: Path) -> None:
    done = affidavit("fleet", "ask", *arguments, env={"AFFIDAVIT_DATA": str(data)})
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""


def test_an_answer_comes_as_a_table_or_for_a_sheet(data: Path) -> None:
    question = ("fleet", "ask", "--sql", "SELECT instance_id, critical FROM nodes ORDER BY 1")
    asked = {"AFFIDAVIT_DATA": str(data)}
    table = affidavit(*question, "--format", "table", env=asked).stdout.splitlines()
    assert [line.split() for line in table] == [["instance_id", "critical"], ["i-prod", "3"], ["i-test", "0"]]
    assert affidavit(*question, "--format", "csv", env=asked).stdout == "instance_id,critical\ni-prod,3\ni-test,0\n"


def test_bundles_that_cannot_be_used_are_named_and_the_exit_code_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "bundles"
    an_archive(folder, {"kubelet/kubelet.log": b"Jan 15 10:30:00 ip-10-0-0-1 kubelet[1]: fine\n"})
    data = {"AFFIDAVIT_DATA": str(tmp_path / "data")}
    assert affidavit("fleet", "add", str(folder), env=data).returncode == 0
    (folder / "notes.tar.gz").write_bytes(b"remember the milk\n")
    done = affidavit("fleet", "add", str(folder), env=data)
    assert (done.returncode, done.stdout) == (3, "1 bundle(s), 0 new among the fleet's tables\n")
    assert "refused notes.tar.gz: " in done.stderr
