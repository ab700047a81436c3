"""What only the S3 store does: encryption for a job and a tool, and a bounded cache of downloads."""

import base64
import errno
import io
import json
import os
import shutil
import time
import uuid
from pathlib import Path
from typing import Any

import pytest

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.storage.download_cache import GRACE_SECONDS, DownloadCache
from affidavit.adapters.aws.storage.objects import S3ObjectStore
from affidavit.errors import UpstreamFailed
from affidavit.sandbox.aws.resources import BUCKET
from affidavit.sandbox.sandbox import Sandbox

FOLDER = f"eks_i-{uuid.uuid4().hex[:17]}"


def requests_of(clients: AwsClients) -> list[dict[str, Any]]:
    """The headers of every write that leaves for S3."""
    seen: list[dict[str, Any]] = []
    events = clients.client("s3").meta.events
    events.register("before-send.s3.*", lambda request, **_: seen.append(dict(request.headers)))
    return seen


def test_every_write_names_key_job_and_tool(sandbox: Sandbox, aws_environment: dict[str, str], tmp_path: Path) -> None:
    key_id = sandbox.client("kms").create_key()["KeyMetadata"]["KeyId"]
    clients = AwsClients(sandbox.region)
    store = S3ObjectStore(clients, BUCKET, kms_key_id=key_id, cache_dir=tmp_path / "cache")
    sent = requests_of(clients)
    (tmp_path / "file").write_bytes(b"x")
    store.put(f"{FOLDER}/put", b"x", purpose="ingest")
    store.put_new(f"{FOLDER}/new", b"x", purpose="ingest")
    store.put_file(f"{FOLDER}/file", tmp_path / "file", purpose="ingest")
    assert len(sent) == 3
    for headers in sent:
        assert headers["x-amz-server-side-encryption"] in ("aws:kms", b"aws:kms")
        context = headers["x-amz-server-side-encryption-context"]
        assert json.loads(base64.b64decode(context)) == {"job_id": FOLDER, "tool": "ingest"}
    assert sandbox.client("s3").head_object(Bucket=BUCKET, Key=f"{FOLDER}/put")["ServerSideEncryption"] == "aws:kms"


def test_a_second_local_copy_is_not_downloaded_again(
    sandbox: Sandbox, aws_environment: dict[str, str], tmp_path: Path
) -> None:
    clients = AwsClients(sandbox.region)
    store = S3ObjectStore(clients, BUCKET, kms_key_id="", cache_dir=tmp_path / "cache")
    store.put(f"{FOLDER}/x.tar.gz", b"bytes", purpose="test")
    first = store.local_copy(f"{FOLDER}/x.tar.gz")
    sent: list[str] = []
    clients.client("s3").meta.events.register("before-send.s3.*", lambda request, **_: sent.append(request.method))
    assert store.local_copy(f"{FOLDER}/x.tar.gz") == first
    assert sent == ["HEAD"]
    assert first.name == "x.tar.gz"


def a_fetch(data: bytes, *, size: int | None = None, etag: str = "e") -> Any:
    return lambda: {"ETag": etag, "ContentLength": size or len(data), "Body": io.BytesIO(data)}


def test_old_copies_make_room_and_fresh_ones_stay(tmp_path: Path) -> None:
    cache = DownloadCache(tmp_path / "cache", most_bytes=25)
    paths = [cache.copy(f"k/{number}", "e", a_fetch(b"0123456789")) for number in range(3)]
    assert all(path.exists() for path in paths)
    for age, path in zip((30, 20, 10), paths, strict=True):
        os.utime(path, (0, time.time() - GRACE_SECONDS - age))
    newest = cache.copy("k/new", "e", a_fetch(b"0123456789"))
    assert [path.exists() for path in (*paths, newest)] == [False, False, True, True]


def test_the_cache_keeps_to_its_share_of_a_small_disk_and_leaves_no_empty_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = shutil.disk_usage(tmp_path)._replace(total=50)
    monkeypatch.setattr("affidavit.adapters.aws.storage.download_cache.shutil.disk_usage", lambda _: small)
    cache = DownloadCache(tmp_path / "cache")
    paths = [cache.copy(f"k/{number}", "e", a_fetch(b"0123456789")) for number in range(3)]
    old = time.time() - 2 * GRACE_SECONDS
    for age, path in enumerate(paths):
        os.utime(path, (old - age, old - age))
    newest = cache.copy("k/new", "e", a_fetch(b"0123456789"))
    assert [path.exists() for path in (*paths, newest)] == [True, False, False, True]
    assert {entry.name for entry in (tmp_path / "cache").iterdir()} == {paths[0].parent.name, newest.parent.name}


def test_a_disk_without_room_is_an_outage_that_names_the_object(tmp_path: Path) -> None:
    class Full(io.BytesIO):
        def read(self, _: int | None = -1, /) -> bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    answer = {"ETag": "e", "ContentLength": 10, "Body": Full()}
    with pytest.raises(UpstreamFailed, match=r"x\.log .10 bytes. could not be kept .*No space left"):
        DownloadCache(tmp_path / "cache").copy("k/x.log", "e", lambda: answer)
    assert list((tmp_path / "cache").iterdir()) == []


def test_an_object_that_changed_after_it_was_looked_up_is_kept_as_what_it_is_now(tmp_path: Path) -> None:
    cache = DownloadCache(tmp_path / "cache")
    newer = cache.copy("k/x", "before", a_fetch(b"newer", etag="after"))
    assert newer.read_bytes() == b"newer"
    assert cache.copy("k/x", "after", a_fetch(b"never asked")) == newer
    assert cache.copy("k/x", "before", a_fetch(b"older", etag="before")).read_bytes() == b"older"


def test_a_download_that_ends_early_is_no_copy(tmp_path: Path) -> None:
    cache = DownloadCache(tmp_path / "cache")
    with pytest.raises(UpstreamFailed, match="4 of 10 bytes") as failure:
        cache.copy("k/x", "e", a_fetch(b"0123", size=10))
    assert failure.value.is_retryable
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def test_a_cache_folder_of_somebody_else_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "cache").symlink_to(tmp_path / "real")
    with pytest.raises(UpstreamFailed, match="somebody else"):
        DownloadCache(tmp_path / "cache").copy("k/x", "e", a_fetch(b"0"))
