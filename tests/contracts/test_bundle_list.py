"""`resources/list`: every bundle that is in the store, whoever put it there, on every object store."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from affidavit.entrypoints.mcp.calls import Calls
from affidavit.entrypoints.mcp.resources import list_bundles, read_resource
from affidavit.entrypoints.mcp.services import Services, Shelves
from affidavit.entrypoints.mcp.tools.catalog import NODES
from affidavit.errors import InputRefused
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.ports.object_store import ObjectStore
from affidavit.redaction.redact import Redactor
from tests.support.clock import FakeClock
from tests.support.knowledge.libraries import INSTANCE, a_library, an_archive, take_in

FOREIGN = [f"i-0f{number:015x}" for number in range(120)]


def calls_on(library: Library) -> Calls:
    services = Services(
        state=library.state, clock=FakeClock(step=timedelta(seconds=1)), shelves=lambda: Shelves(library=library)
    )
    return Calls(services=services, redactor=Redactor(), tools={tool.name: tool for tool in NODES})


def listed(calls: Calls) -> list[list[str]]:
    pages: list[list[str]] = []
    cursor: str | None = None
    while True:
        page = list_bundles(calls, cursor)
        pages.append([str(resource.uri) for resource in page.resources])
        cursor = page.next_cursor
        if cursor is None:
            return pages


def write_foreign(objects: ObjectStore, instance: str) -> None:
    index = {"instanceId": instance, "indexedAt": "2025-06-01T10:00:00Z", "findings": []}
    objects.put(f"eks_{instance}/findings_index.json", json.dumps(index).encode(), purpose="test")


def test_every_index_in_the_store_is_listed_once_by_a_server_that_took_none_of_them_in(
    objects: ObjectStore, tmp_path: Path
) -> None:
    library = a_library(tmp_path, objects=objects)
    first = take_in(library, an_archive(tmp_path / "a", {"kubelet/kubelet.log": b"KAPUT\n"}))
    second = take_in(library, an_archive(tmp_path / "b", {"kubelet/kubelet.log": b"DEAD\n"}))
    for instance in FOREIGN:
        write_foreign(objects, instance)
    objects.put("eks_i-0e11111111111111f/half_an_upload.tar.gz", b"x", purpose="test")
    objects.put("eks_elsewhere/findings_index.json", b"{}", purpose="test")

    # Another state table: nothing of what the first server knew is known to this one.
    calls = calls_on(a_library(tmp_path / "other", objects=objects))
    pages = listed(calls)
    assert len(pages) == 3 and all(pages)
    older = f"affidavit://bundle/{INSTANCE}/{first.marker.index_id}"
    expected = [f"affidavit://bundle/{INSTANCE}", older, *(f"affidavit://bundle/{each}" for each in FOREIGN)]
    assert sorted(uri for page in pages for uri in page) == sorted(expected)

    files = json.loads(read_resource(f"affidavit://bundle/{INSTANCE}", calls).contents[0].text)
    assert files["index_id"] == second.marker.index_id
    files = json.loads(read_resource(older, calls).contents[0].text)
    assert files["index_id"] == first.marker.index_id


def test_an_index_that_cannot_be_read_is_listed_so_that_somebody_learns_of_it(
    objects: ObjectStore, tmp_path: Path
) -> None:
    objects.put(f"eks_{INSTANCE}/findings_index.json", b"not json", purpose="test")
    assert listed(calls_on(a_library(tmp_path, objects=objects))) == [[f"affidavit://bundle/{INSTANCE}"]]


def test_a_cursor_that_nobody_gave_out_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputRefused):
        list_bundles(calls_on(a_library(tmp_path)), "../x")
