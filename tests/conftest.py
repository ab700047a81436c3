"""Nothing here reaches a network: a test that tries learns so at once."""

import os
import socket
import ssl
from functools import cache

import certifi
import pytest
from hypothesis import settings

from tests.support.processes.command import open_nurseries
from tests.support.sandbox import aws_environment, sandbox  # noqa: F401 - fixtures
from tests.workers import TOGETHER

# Timing never fails a test: on a busy machine the first example of a property may take a second.
settings.register_profile("affidavit", deadline=None)
settings.load_profile("affidavit")


_new_context = ssl.create_default_context


@cache
def _context_of_the_world(*_named: str | None) -> ssl.SSLContext:
    return _new_context()


def _shared_context(
    purpose: ssl.Purpose = ssl.Purpose.SERVER_AUTH,
    *,
    cafile: str | None = None,
    capath: str | None = None,
    cadata: str | bytes | None = None,
) -> ssl.SSLContext:
    """The authorities of the world are read once, not for each of a thousand requests to 127.0.0.1: no other place is
    reached from here."""
    if purpose is ssl.Purpose.SERVER_AUTH and cafile in (None, certifi.where()) and not (capath or cadata):
        return _context_of_the_world(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    return _new_context(purpose, cafile=cafile, capath=capath, cadata=cadata)


ssl.create_default_context = _shared_context


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
        _build_the_engine()
        open_nurseries()


def _build_the_engine() -> None:
    """Once, and kept for every process to come: on a new machine each would do its small scan with RE2 of all rules."""
    from affidavit.index.scanning.rule_matching import slots_of
    from affidavit.knowledge import load_knowledge

    _ = slots_of(load_knowledge().pack).matcher


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
