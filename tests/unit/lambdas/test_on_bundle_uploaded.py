"""What becomes of a message about an upload."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.knowledge.libraries import INSTANCE, OTHER, a_library, an_archive

from affidavit.adapters.aws.dead_letter_sender import _printable
from affidavit.entrypoints.lambdas import on_bundle_uploaded
from affidavit.entrypoints.lambdas.on_bundle_uploaded import Intake, handler, uploaded_objects
from affidavit.errors import AffidavitError, InputRefused, UpstreamFailed
from affidavit.nodes.library.upload_origin import OriginProof


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

    monkeypatch.setattr("affidavit.nodes.ingest.bundle_intake.ingest", fail)


def test_a_key_is_decoded_as_s3_encodes_it() -> None:
    assert [each.key for each in uploaded_objects(message("eks_i-1/a+b%2Bc.tar.gz"))] == ["eks_i-1/a b+c.tar.gz"]


def test_what_we_stored_ourselves_is_no_upload() -> None:
    ours = ["eks_i-1/extracted/var_log/old.tar.gz", "eks_i-1/bundles/b-1/x.tar.gz"]
    assert [each.key for each in uploaded_objects(message(*ours, "eks_i-1/x.tar.gz"))] == ["eks_i-1/x.tar.gz"]


def test_the_test_event_of_s3_is_done_without_an_engine() -> None:
    body = json.dumps({"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "b"})
    assert handler({"Records": [record(body)]}, None) == {"batchItemFailures": []}


def test_what_cannot_be_used_is_kept_with_its_reason_and_not_tried_again(
    letters: Letters, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing_with(InputRefused("no archive", hint="collect again"), monkeypatch)
    assert handler({"Records": [record(message("eks_i-1/x.tar.gz"))]}, None) == {"batchItemFailures": []}
    assert [(source, str(error)) for source, error in letters.kept] == [("eks_i-1/x.tar.gz", "no archive")]


def test_an_upload_over_the_limit_of_the_settings_is_kept_with_that_reason(
    tmp_path: Path, letters: Letters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("AFFIDAVIT_DATA", str(tmp_path))
    monkeypatch.setenv("MAX_UPLOAD_MIB", "1")
    on_bundle_uploaded.application.cache_clear()
    intake = replace(on_bundle_uploaded.application(), dead_letters=letters)
    monkeypatch.setattr(on_bundle_uploaded, "application", lambda: intake)
    key = "eks_i-0123456789abcdef0/x.tar.gz"
    intake.library.objects.put(key, bytes((1 << 20) + 1), purpose="test")
    assert handler({"Records": [record(message(key))]}, None) == {"batchItemFailures": []}
    assert [(source, "at most 1 are read" in str(error)) for source, error in letters.kept] == [(key, True)]


@pytest.mark.parametrize(
    ("principal", "origin", "published"),
    [
        (f"AWS:AROAEXAMPLE:{INSTANCE}", OriginProof.PROVEN, 1),
        (f"AWS:AROAEXAMPLE:{OTHER}", OriginProof.UNPROVEN, 0),
        ("", OriginProof.UNPROVEN, 0),
    ],
)
def test_who_wrote_the_object_decides_whether_the_origin_is_proven(
    principal: str, origin: OriginProof, published: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = a_library(tmp_path)
    shown: list[str] = []
    monkeypatch.setattr("affidavit.fleet.publish.publish", lambda _, marker: shown.append(marker.index_id))
    monkeypatch.setattr(on_bundle_uploaded, "application", lambda: Intake(library=library, dead_letters=None))
    key = f"eks_{INSTANCE}/x.tar.gz"
    (tmp_path / "in").mkdir()
    archive = an_archive(tmp_path / "in", {"kubelet/kubelet.log": b"KAPUT\n"})
    library.objects.put(key, archive.read_bytes(), purpose="test")
    event = {"s3": {"object": {"key": key}}, "userIdentity": {"principalId": principal}}
    assert handler({"Records": [record(json.dumps({"Records": [event]}))]}, None) == {"batchItemFailures": []}
    assert (library.find(INSTANCE).origin, len(shown)) == (origin, published)


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
