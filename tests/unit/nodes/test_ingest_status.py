from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.support.clock import FakeClock
from tests.support.fleet import NODE

from affidavit.adapters.local.objects import DirectoryObjectStore
from affidavit.adapters.local.table import SqliteTable
from affidavit.errors import EvidenceUnavailable
from affidavit.nodes.ingest.delivered_bundle_status import AwaitedBundles
from affidavit.nodes.ingest.ingest_records import record_failed, record_indexed
from affidavit.nodes.ingest.ingest_sources import upload_of
from affidavit.ports.node_collector import Execution

KEY = f"eks_{NODE}/{NODE}_eks-log-collector.tar.gz"


class Store:
    def __init__(self, folder: Path) -> None:
        self.clock = FakeClock(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))
        self.objects = DirectoryObjectStore(folder / "objects")
        self.state = SqliteTable(folder / "state.db", "state", self.clock)
        self.awaited = AwaitedBundles(objects=self.objects, state=self.state)
        self.execution = Execution(
            execution_id="e",
            instance_id=NODE,
            status="Success",
            started=self.clock.now(),
            ended=None,
            steps=(),
            failure=None,
            archive_key=KEY,
        )

    def upload(self, content: bytes) -> None:
        self.objects.put(KEY, content, purpose="test")

    def indexed(self, doubt: str = "") -> None:
        fingerprint = upload_of(KEY, self.objects).fingerprint
        record_indexed(
            self.state,
            self.clock,
            instance_id=NODE,
            source=KEY,
            fingerprint=fingerprint,
            index_id="x-1",
            knowledge="1",
            doubt=doubt,
        )

    def failed(self) -> None:
        fingerprint = upload_of(KEY, self.objects).fingerprint
        error = EvidenceUnavailable("the archive is cut short")
        record_failed(self.state, self.clock, instance_id=NODE, source=KEY, fingerprint=fingerprint, error=error)

    def answer(self, execution: Execution | None = None) -> tuple[bool, str | None]:
        execution = execution or self.execution
        return self.awaited.is_indexed(NODE, execution), self.awaited.failure(NODE, execution)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def test_an_upload_is_waited_for_until_it_is_indexed(store: Store) -> None:
    assert store.answer() == (False, None)
    store.upload(b"first")
    assert store.answer() == (False, None)
    store.indexed()
    assert store.answer() == (True, None)


def test_an_origin_that_is_not_proven_is_told(store: Store) -> None:
    store.upload(b"first")
    store.indexed()
    assert store.awaited.doubt(NODE, store.execution) == ""
    store.indexed(doubt="origin: unproven")
    assert (store.answer(), store.awaited.doubt(NODE, store.execution)) == ((True, None), "origin: unproven")


def test_the_index_of_an_earlier_bundle_is_no_answer(store: Store) -> None:
    store.upload(b"first")
    store.indexed()
    store.upload(b"the second")
    assert store.answer() == (False, None)
    store.indexed()
    assert store.answer() == (True, None)


def test_the_failure_of_an_earlier_bundle_is_no_answer_either(store: Store) -> None:
    store.upload(b"first")
    store.failed()
    assert store.answer() == (False, "the archive is cut short")
    store.upload(b"the second")
    assert store.answer() == (False, None)


@pytest.mark.parametrize("later", ["indexed", "failed"])
def test_an_earlier_upload_that_ends_late_does_not_hide_what_became_of_this_one(store: Store, later: str) -> None:
    store.upload(b"first")
    earlier = upload_of(KEY, store.objects).fingerprint
    store.upload(b"the second")
    if later == "indexed":
        store.failed()
        record_indexed(
            store.state, store.clock, instance_id=NODE, source=KEY, fingerprint=earlier, index_id="x", knowledge="1"
        )
        assert store.answer() == (False, "the archive is cut short")
    else:
        store.indexed()
        error = EvidenceUnavailable("damaged")
        record_failed(store.state, store.clock, instance_id=NODE, source=KEY, fingerprint=earlier, error=error)
        assert store.answer() == (True, None)


def test_an_index_makes_up_for_an_earlier_failure_of_the_same_upload(store: Store) -> None:
    store.upload(b"first")
    store.failed()
    store.indexed()
    assert store.answer() == (True, None)


@pytest.mark.parametrize("why", ["nobody says where it lies", "it was moved away"])
def test_without_an_archive_what_was_read_since_the_start_counts(store: Store, why: str) -> None:
    key = None if why == "nobody says where it lies" else f"eks_{NODE}/gone.tar.gz"
    execution = replace(store.execution, archive_key=key, started=store.clock.now() + timedelta(seconds=1))
    store.upload(b"an earlier one")
    store.indexed()
    assert store.answer(execution) == (False, None)
    store.clock.pass_by(timedelta(minutes=1))
    store.indexed()
    assert store.answer(execution) == (True, None)
    assert store.answer(replace(execution, started=None)) == (False, None)
