"""The fleet's tables: what is published reads back, and a thousand nodes are asked at once."""

from datetime import date, datetime
from pathlib import Path

import pytest

from affidavit.adapters.local.objects import DirectoryObjectStore
from affidavit.adapters.local.table import SqliteTable
from affidavit.errors import NotFound
from affidavit.evaluation.generator import BundleSpec, Form, Layout, generate, write
from affidavit.fleet.athena_tables import table_statements
from affidavit.fleet.local_query import ask_folder
from affidavit.fleet.publish import publish
from affidavit.fleet.questions import QUESTIONS, question
from affidavit.fleet.schema import NODES, TABLES
from affidavit.fleet.sql_with_values import FleetScope, Inquiry
from affidavit.investigation import analyze
from affidavit.knowledge import load_knowledge
from affidavit.nodes.ingest.folder_bundles import ingest_directory
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.ports.clock import SystemClock


@pytest.fixture
def library(tmp_path: Path) -> Library:
    clock = SystemClock()
    return Library(
        objects=DirectoryObjectStore(tmp_path / "objects"),
        state=SqliteTable(tmp_path / "state.sqlite", "affidavit-state", clock),
        clock=clock,
        knowledge=load_knowledge(),
    )


def test_what_is_published_is_what_the_index_says(library: Library, tmp_path: Path) -> None:
    for number, faults in enumerate((("oom",), ())):
        spec = BundleSpec(layout=Layout.AL2023, faults=faults, instance_id=f"i-0f1ee{number:012x}", seed=number)
        write(generate(spec), tmp_path / "bundles", Form.TAR_GZ)
    done = ingest_directory(tmp_path / "bundles", library, analyze=analyze, cluster="prod")
    assert [publish(library, each.marker) for each in done.ingested] == [True, True]
    assert [publish(library, each.marker) for each in done.ingested] == [False, False], "twice does no harm"
    answer = ask_folder(
        tmp_path / "objects",
        Inquiry(sql="SELECT instance_id, finding_id, full_key, start_byte, end_byte, sha256 FROM findings"),
    )
    indexes = {each.marker.instance_id: library.index(each.marker) for each in done.ingested}
    expected = {
        (instance, finding.finding_id, finding.evidence.full_key, *_span(finding), finding.evidence.sha256)
        for instance, index in indexes.items()
        for finding in index.findings
    }
    assert {tuple(row) for row in answer.rows} == expected
    assert expected
    # A node on which nothing was found is there all the same, with how much of it was read.
    nodes = ask_folder(tmp_path / "objects", Inquiry(sql="SELECT instance_id, cluster, total_files FROM nodes"))
    assert {(row[0], row[1], row[2]) for row in nodes.rows} == {
        (instance, "prod", index.coverage.total_files) for instance, index in indexes.items()
    }


def _span(finding) -> tuple[int, int]:
    return finding.evidence.byte_offset.start, finding.evidence.byte_offset.end


def test_no_index_is_said_and_not_shown_as_health(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no index"):
        ask_folder(tmp_path, QUESTIONS[0].asked())


def test_a_thousand_nodes_are_asked_at_once(thousand: Path) -> None:
    common = question("common-faults")
    assert common is not None
    answer = ask_folder(thousand, common.asked())
    assert answer.indexes == 1000
    counted = {(row[0], row[1]): row[3] for row in answer.rows}
    assert sum(counted.values()) == 1000
    assert counted["prod", "fault 0"] == sum(1 for n in range(1000) if n % 7 == 0 and n % 4 != 0)
    unread = ask_folder(thousand, Inquiry(sql="SELECT count(*) FROM nodes WHERE coverage_pct < 100"))
    assert unread.rows[0][0] == 112


def test_only_the_named_clusters_are_asked_and_counted(thousand: Path) -> None:
    counted = question("clusters")
    assert counted is not None
    answer = ask_folder(thousand, counted.asked(FleetScope(clusters=("test",))))
    assert (answer.indexes, [row[:2] for row in answer.rows]) == (250, [("test", 250)])
    both = ask_folder(thousand, counted.asked(FleetScope(clusters=("test", "prod"), since=date(2026, 1, 15))))
    assert (both.indexes, {row[:2] for row in both.rows}) == (1000, {("test", 250), ("prod", 750)})


@pytest.mark.parametrize(
    "scope",
    [
        FleetScope(clusters=("porduction",)),
        FleetScope(since=date(2026, 1, 16)),
        FleetScope(clusters=("x') OR 1 = 1 --",)),
    ],
    ids=["misspelt", "too late", "hostile"],
)
def test_a_scope_without_an_index_is_said_and_not_shown_as_health(scope: FleetScope, thousand: Path) -> None:
    with pytest.raises(NotFound, match="no index"):
        ask_folder(thousand, QUESTIONS[0].asked(scope))


@pytest.mark.parametrize("each", QUESTIONS, ids=lambda each: each.name)
def test_every_named_question_has_an_answer_over_a_thousand_nodes(each, thousand: Path) -> None:
    assert ask_folder(thousand, each.asked()).rows


def test_only_the_newest_index_of_a_node_counts(tmp_path: Path) -> None:
    from affidavit.fleet.parquet import parquet_of

    for day, critical in ((1, 5), (2, 0)):
        moment = datetime(2026, 1, day)
        row = ("i-1", f"x{day}", "b", moment, moment, "1", 1, 1, 100.0, 0, critical, 0, 0, 0, 0)
        folder = tmp_path / NODES.prefix / "cluster=prod" / f"dt=2026-01-0{day}"
        folder.mkdir(parents=True)
        (folder / "x.parquet").write_bytes(parquet_of(NODES, [row]))
    worst = question("worst-nodes")
    assert worst is not None
    answer = ask_folder(tmp_path, worst.asked())
    assert [row[answer.columns.index("critical")] for row in answer.rows] == [0]


def test_a_node_is_unread_where_a_file_was_lost_and_not_where_files_are_left_out_on_purpose(
    library: Library, tmp_path: Path
) -> None:
    for number, name in enumerate(("whole", "lost")):
        spec = BundleSpec(layout=Layout.AL2023, faults=(), instance_id=f"i-0f1ee{number:012x}", seed=number)
        made = write(generate(spec), tmp_path / name, Form.DIRECTORY)
        if name == "lost":
            (made / "var_log" / "messages.1.gz").write_bytes(b"\x1f\x8b this is no gzip")
        done = ingest_directory(tmp_path / name, library, analyze=analyze, cluster="prod")
        assert [publish(library, each.marker) for each in done.ingested] == [True]
    unread = question("unread")
    assert unread is not None
    answer = ask_folder(tmp_path / "objects", unread.asked())
    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    assert (answer.indexes, [(row["instance_id"], row["gaps"]) for row in rows]) == (2, [("i-0f1ee000000000001", 1)])


def test_athena_is_told_of_every_column() -> None:
    for table, statement in zip(TABLES, table_statements("logs"), strict=True):
        assert all(f"  {column.name} " in statement for column in table.columns)
        assert f"s3://logs/{table.prefix}/" in statement
