"""Nothing here reaches a network: a test that tries learns so at once."""

import socket

import pytest
from hypothesis import settings

from tests.support.processes.command import open_nurseries
from tests.support.sandbox import aws_environment, sandbox  # noqa: F401 - fixtures
from tests.workers import TOGETHER

# Timing never fails a test: on a busy machine the first example of a property may take a second.
settings.register_profile("affidavit", deadline=None)
settings.load_profile("affidavit")


@pytest.fixture(autouse=True)
def _closed_network(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"a test tried to reach {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow tests come first: the others fill the time beside them. Tests that share a set-up share a worker."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    for item in items:
        if isinstance(item, pytest.Function) and (group := _group(item)) is not None:
            item.stash[TOGETHER] = group


def pytest_collection_finish(session: pytest.Session) -> None:
    if session.config.option.workers > 1:
        open_nurseries()


def _group(item: pytest.Function) -> str | None:
    """Two workers would make a module's or a folder's fixture twice. The runs of one quick test are not worth
    spreading."""
    file = item.nodeid.partition("::")[0]
    definitions = item._fixtureinfo.name2fixturedefs.values()  # pytest has no public name for it
    scopes = {definition.scope for found in definitions for definition in found}
    if "package" in scopes:
        return file.rpartition("/")[0]
    if "module" in scopes:
        return file
    is_quick = item.get_closest_marker("slow") is None
    return f"{file}::{item.originalname}" if is_quick and hasattr(item, "callspec") else None
