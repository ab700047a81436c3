"""Nothing here reaches a network: a test that tries learns so at once."""

import socket
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from tests.support.sandbox import aws_environment, sandbox  # noqa: F401 - fixtures

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
    """Long tests first: the others fill the time beside them."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


# What a file says whose tests share servers or bundles: in two workers they would be started twice.
SHARED = ('scope="module"', "support.workload_account")


class Companions(LoadScopeScheduling):
    """Tests that share a set-up go to the same worker. The runs of one test do, too, unless they are long."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        source = _source(file)
        if any(words in source for words in SHARED):
            return file
        return nodeid if "mark.long" in source else nodeid.partition("[")[0]


@cache
def _source(file: str) -> str:
    return (Path(__file__).parents[1] / file).read_text("utf-8")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Companions:
    return Companions(config, log)
