"""What becomes of a message about an upload."""

import json
from pathlib import Path

import pytest

from affidavit.adapters.aws.dead_letters import _printable
from affidavit.entrypoints.lambdas import on_bundle_uploaded
from affidavit.entrypoints.lambdas.on_bundle_uploaded import Intake, handler, uploaded_keys
from affidavit.errors import AffidavitError, InputRefused, UpstreamFailed


def message(*keys: str) -> str:
    return json.dumps({"Records": [{"s3": {"bucket": {"name": "b"}, "object": {"key": key}}} for key in keys]})


def record(body: str, name: str = "m-1") -> dict[str, str]:
    return {"messageId": name, "body": body}


class Letters:
    def __init__(self) -> None:
        self.kept: list[tuple[str, AffidavitError]] = []

    def keep(self, message: str, *, source: str, error: AffidavitError) -> None:
        self.kept.append((source, error))


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> Letters:
    kept = Letters()
    monkeypatch.setattr(on_bundle_uploaded, "application", lambda: Intake(library=None, dead_letters=kept))
    return kept


def failing_with(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("affidavit.nodes.ingest.ingest", fail)


def test_a_key_is_decoded_as_s3_encodes_it() -> None:
    assert list(uploaded_keys(message("eks_i-1/a+b%2Bc.tar.gz"))) == ["eks_i-1/a b+c.tar.gz"]


def test_what_we_stored_ourselves_is_no_upload() -> None:
    ours = ["eks_i-1/extracted/var_log/old.tar.gz", "eks_i-1/bundles/b-1/x.tar.gz"]
    assert list(uploaded_keys(message(*ours, "eks_i-1/x.tar.gz"))) == ["eks_i-1/x.tar.gz"]


def test_the_test_event_of_s3_is_done_without_an_engine() -> None:
    body = json.dumps({"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "b"})
    assert handler({"Records": [record(body)]}, None) == {"batchItemFailures": []}


def test_what_cannot_be_used_is_kept_with_its_reason_and_not_tried_again(
    letters: Letters, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing_with(InputRefused("no archive", hint="collect again"), monkeypatch)
    assert handler({"Records": [record(message("eks_i-1/x.tar.gz"))]}, None) == {"batchItemFailures": []}
    assert [(source, str(error)) for source, error in letters.kept] == [("eks_i-1/x.tar.gz", "no archive")]


@pytest.mark.parametrize(
    "error", [UpstreamFailed("throttled", is_retryable=True), RuntimeError("a bug")], ids=["upstream", "bug"]
)
def test_what_may_go_well_later_goes_back_to_the_queue(
    error: Exception, letters: Letters, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing_with(error, monkeypatch)
    event = {"Records": [record(message("eks_i-1/x.tar.gz"), "bad"), record("{}", "good")]}
    assert handler(event, None) == {"batchItemFailures": [{"itemIdentifier": "bad"}]}
    assert letters.kept == []


def test_a_message_that_is_no_json_goes_back_and_does_not_cost_the_others() -> None:
    event = {"Records": [record("no json", "bad"), record("{}", "good")]}
    assert handler(event, None) == {"batchItemFailures": [{"itemIdentifier": "bad"}]}


def test_a_reason_with_control_characters_can_be_sent() -> None:
    assert _printable("a\x00b\nc") == "a?b?c"
    assert len(_printable("x" * 10_000)) == 2000


def test_the_handler_loads_neither_the_engine_nor_boto3() -> None:
    import subprocess
    import sys

    program = (
        "import sys, affidavit.entrypoints.lambdas.on_bundle_uploaded; "
        "sys.exit(bool({'boto3', 'numpy', 'hyperscan', 'duckdb', 'langchain_core'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], cwd=Path.cwd(), check=False).returncode == 0
