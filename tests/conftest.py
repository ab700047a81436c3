"""Nothing here reaches a network: a test that tries learns so at once."""

import socket

import pytest
from hypothesis import settings

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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests first: the others fill the time beside them. Those that share a set-up go to the same worker."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
    for item in items:
        item.add_marker(pytest.mark.xdist_group(_company_of(item)))


def _company_of(item: pytest.Item) -> str:
    fixtures = getattr(item, "_fixtureinfo").name2fixturedefs.values()  # noqa: B009 - pytest tells it nowhere else
    if any(definitions[-1].scope == "module" for definitions in fixtures):
        return item.nodeid.partition("::")[0]
    return item.nodeid if item.get_closest_marker("long") else item.nodeid.partition("[")[0]
