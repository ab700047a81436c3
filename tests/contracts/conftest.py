"""Every contract runs on every adapter: on this machine's disk, and on the sandbox over real HTTP."""

import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from affidavit.ports.object_store import ObjectStore
from affidavit.ports.table import Table
from affidavit.sandbox.aws.resources import make_bucket, make_table
from tests.contracts.places import Place
from tests.support.clock import FakeClock


@pytest.fixture(params=["sqlite", "dynamodb"])
def table_place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "sqlite":
        return Place(folder=tmp_path, environment={}, bucket="")
    place = Place(folder=tmp_path, environment=request.getfixturevalue("aws_environment"), bucket="")
    for name in place.tables:
        make_table(request.getfixturevalue("sandbox").account, name)
    return place


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime.now(UTC) + timedelta(hours=1))


@pytest.fixture
def table(table_place: Place, clock: FakeClock) -> Table:
    return table_place.table(clock=clock)


@pytest.fixture
def other_table(table_place: Place, clock: FakeClock) -> Table:
    return table_place.table(1, clock=clock)


@pytest.fixture(params=["directory", "s3"])
def object_place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "directory":
        return Place(folder=tmp_path, environment={}, bucket="")
    place = Place(folder=tmp_path, environment=request.getfixturevalue("aws_environment"), bucket=uuid.uuid4().hex)
    make_bucket(request.getfixturevalue("sandbox").account, place.bucket)
    return place


@pytest.fixture
def objects(object_place: Place) -> ObjectStore:
    return object_place.objects()
