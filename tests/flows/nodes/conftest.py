"""Node incidents through our Lambda functions, concluded by rules alone."""

from collections.abc import Iterator

import pytest

from affidavit.entrypoints.lambdas import on_bundle_uploaded, on_incident


@pytest.fixture(scope="module")
def applications() -> Iterator[None]:
    """Built once for the tests of a module: reading the rules takes longer than most of them."""
    for application in (on_incident.application, on_bundle_uploaded.application):
        application.cache_clear()
    yield
    for application in (on_incident.application, on_bundle_uploaded.application):
        application.cache_clear()


@pytest.fixture
def offline(applications: None, aws_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAT_PROVIDER", "offline")
    monkeypatch.setenv("MAX_INCIDENTS_PER_HOUR", "500")
