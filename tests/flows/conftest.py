"""A workload in an account of its own, for flows that break it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.investigations.workload_account import Stage, stage

from affidavit.adapters.local.table import SqliteTable
from affidavit.ports.clock import SystemClock
from affidavit.ports.table import Table


@pytest.fixture(scope="module")
def shared_stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with stage(tmp_path_factory.mktemp("emulator")) as made:
        yield made


@pytest.fixture
def here(shared_stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Stage:
    for name, value in shared_stage.environment.items():
        monkeypatch.setenv(name, value)
    return shared_stage


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return SqliteTable(tmp_path / "chaos.sqlite", "chaos", SystemClock())
