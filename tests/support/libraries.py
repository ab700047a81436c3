"""A library in a folder, with bundles made by hand in it."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from affidavit.adapters.local.objects import DirectoryObjectStore
from affidavit.adapters.local.table import SqliteTable
from affidavit.investigation import analyze
from affidavit.knowledge import Knowledge
from affidavit.nodes.filing import Ingested, Origin
from affidavit.nodes.ingest import ingest
from affidavit.nodes.library import Library
from affidavit.ports import ObjectStore, Table
from tests.support.bundles import write_form
from tests.support.packs import a_pack, a_rule

INSTANCE = "i-0123456789abcdef0"
OTHER = "i-0fedcba9876543210"


class SteppingClock:
    """A second later each time it is asked."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 15, 12, tzinfo=UTC)

    def now(self) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time


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
    clock = SteppingClock()
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
