"""A sandbox for tests: one a worker, started when the first test asks."""

from collections.abc import Iterator

import pytest

from affidavit.sandbox.sandbox import Sandbox


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A laptop AWS, shared by the tests of a worker: use names of your own in it."""
    with Sandbox(tmp_path_factory.mktemp("sandbox")) as running:
        yield running


@pytest.fixture
def aws_environment(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Points boto3 and our settings at the sandbox for one test."""
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    for name, value in sandbox.environment.items():
        monkeypatch.setenv(name, value)
    return sandbox.environment
