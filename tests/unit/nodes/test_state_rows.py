"""The rows that questions leave in the state table: their keys and how long they count."""

from datetime import timedelta
from pathlib import Path

import pytest
from tests.support.clock import FakeClock
from tests.support.knowledge.libraries import INSTANCE, a_library, shelve

from affidavit.errors import InputRefused
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.nodes.questions.errors import errors
from affidavit.nodes.questions.search import search
from affidavit.nodes.questions.summarize import summarize
from affidavit.nodes.wire.findings_page import ErrorsRequest
from affidavit.nodes.wire.search import SearchRequest
from affidavit.nodes.wire.summarize import SummarizeRequest
from affidavit.ports.table import Key

LOG = "kubelet/kubelet.log"
DAY = timedelta(days=1)
MOMENT = timedelta(minutes=1)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    made = a_library(tmp_path)
    shelve(made, tmp_path / "in", {LOG: b"Jan 15 10:00:00 ip kubelet[1]: KAPUT\n"})
    return made


def later(library: Library, passed: timedelta) -> None:
    assert isinstance(library.clock, FakeClock)
    library.clock.at += passed


def test_a_search_can_be_cited_for_a_day_though_nobody_removes_its_row(library: Library) -> None:
    found = search(library, SearchRequest(instance_id=INSTANCE, query="KAPUT"))
    row = library.state.get(Key(pk=f"SEARCH#{found.search_id}", sk="META"))
    assert row is not None and row["ttl"] == pytest.approx((library.clock.now() + DAY).timestamp(), abs=60)
    cite = SummarizeRequest(instance_id=INSTANCE, finding_ids=["S-001"], search_id=found.search_id)
    later(library, DAY - MOMENT)
    assert summarize(library, cite).finding_ids_resolved == 1
    later(library, 2 * MOMENT)
    with pytest.raises(InputRefused, match=r"S-001.*no search"):
        summarize(library, cite)


def test_a_pattern_is_part_of_a_clusters_background_for_thirty_days_after_it_was_seen(
    library: Library, tmp_path: Path
) -> None:
    for number in range(10):
        shelve(library, tmp_path / "fleet", {LOG: b"KAPUT %d\n" % number}, instance=f"i-0aaaaaaaaaaaaaaa{number}")
    row = library.state.get(Key(pk="BASELINE#prod", sk="PATTERN#It is kaput"))
    assert row is not None and row["bundles"] == 11
    asked = ErrorsRequest(instance_id=INSTANCE, cluster_context="prod")

    def is_background() -> bool | None:
        return errors(library, asked).model_dump(mode="json")["findings"][0].get("is_baseline")

    later(library, 30 * DAY - 10 * MOMENT)
    assert is_background() is True
    later(library, 20 * MOMENT)
    assert is_background() is None
