"""A library in a folder, with bundles made by hand in it."""

from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from pathlib import Path

from affidavit.adapters.local.objects import DirectoryObjectStore
from affidavit.adapters.local.table import SqliteTable
from affidavit.investigation import analyze
from affidavit.knowledge import Knowledge
from affidavit.nodes.ingest.bundle_intake import ingest
from affidavit.nodes.ingest.store_bundle import Ingested, Origin
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.ports.object_store import ObjectStore
from affidavit.ports.table import Table
from tests.support.archives.bundles import write_form
from tests.support.clock import FakeClock
from tests.support.knowledge.packs import a_pack, a_rule

INSTANCE = "i-0123456789abcdef0"
OTHER = "i-0fedcba9876543210"


@cache
def small_knowledge() -> Knowledge:
    pack = a_pack(
        a_rule("test.kaput", "KAPUT", name="It is kaput", severity="high"),
        a_rule("test.dead", "DEAD", name="It is dead", severity="critical", signal="test.death"),
        a_rule("test.odd", "ODD", name="It is odd", severity="low", signal="test.oddity"),
    )
    return Knowledge(pack=pack, checks=())


def a_library(
    folder: Path, *, objects: ObjectStore | None = None, state: Table | None = None, knowledge: Knowledge | None = None
) -> Library:
    clock = FakeClock(step=timedelta(seconds=1))
    return Library(
        objects=objects or DirectoryObjectStore(folder / "objects"),
        state=state or SqliteTable(folder / "state.db", "state", clock),
        clock=clock,
        knowledge=knowledge or small_knowledge(),
    )


def an_archive(folder: Path, files: Mapping[str, bytes], *, instance: str = INSTANCE, form: str = "tar.gz") -> Path:
    return write_form(files, folder, form, name=f"eks_{instance}_2026-01-15_1030-UTC_0.7.9")


def take_in(library: Library, source: str | Path, *, cluster: str | None = "prod") -> Ingested:
    return ingest(source, library, analyze=analyze, origin=Origin(cluster=cluster, region="eu-west-1"), workers=1)


def shelve(
    library: Library, folder: Path, files: Mapping[str, bytes], *, instance: str = INSTANCE, cluster: str = "prod"
) -> Ingested:
    return take_in(library, an_archive(folder, files, instance=instance), cluster=cluster)
