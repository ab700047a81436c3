"""Objects in an S3 bucket."""

import base64
import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.error_translation import code_of, translated
from affidavit.adapters.aws.storage.download_cache import DownloadCache
from affidavit.adapters.object_keys import check_folder_prefix, check_key, check_prefix, check_range
from affidavit.errors import InputRefused, NotFound, UpstreamFailed
from affidavit.ports.object_store import ObjectMissing, StoredObject

PUT_NEW_ATTEMPTS = 5
_TAKEN = "PreconditionFailed"
# Another conditional write of the same key is under way; S3 asks to try again.
_CONTENDED = "ConditionalRequestConflict"


class S3ObjectStore:
    """Every object is encrypted under `kms_key_id` when there is one, for the job and tool that wrote it."""

    def __init__(self, clients: AwsClients, bucket: str, *, kms_key_id: str, cache_dir: Path) -> None:
        self._clients, self._bucket, self._kms_key_id = clients, bucket, kms_key_id
        self._cache = DownloadCache(cache_dir)

    def get(self, key: str) -> bytes:
        with self._on(key) as where:
            return self._s3.get_object(**where)["Body"].read()

    def read(self, key: str, start: int, end: int) -> bytes:
        check_range(start, end)
        with self._on(key) as where:
            try:
                # HTTP has no empty range: one byte is asked for and dropped.
                answer = self._s3.get_object(**where, Range=f"bytes={start}-{max(start, end - 1)}")
            except ClientError as error:
                if code_of(error) == "InvalidRange":
                    return b""
                raise
            return answer["Body"].read()[: end - start]

    def head(self, key: str) -> StoredObject | None:
        try:
            return _stored(key, self._head(key), "ContentLength")
        except ObjectMissing:
            return None

    def put(self, key: str, data: bytes, *, purpose: str) -> None:
        with self._on(key) as where:
            self._s3.put_object(**where, Body=data, **self._encryption(key, purpose))

    def put_new(self, key: str, data: bytes, *, purpose: str) -> bool:
        with self._on(key) as where:
            for _ in range(PUT_NEW_ATTEMPTS):
                try:
                    self._s3.put_object(**where, Body=data, IfNoneMatch="*", **self._encryption(key, purpose))
                except ClientError as error:
                    if code_of(error) == _TAKEN:
                        return False
                    if code_of(error) != _CONTENDED:
                        raise
                else:
                    return True
        raise UpstreamFailed(f"object {key!a}: many write it at once", hint="try again", is_retryable=True)

    def put_file(self, key: str, path: Path, *, purpose: str) -> None:
        if not path.is_file():
            raise InputRefused(f"{path} is no file", hint="it is gone, or it was never written")
        # Here: boto3 takes a while to load, and most who open a store never send a file.
        from boto3.exceptions import S3UploadFailedError

        with self._on(key):
            try:
                self._s3.upload_file(str(path), self._bucket, key, ExtraArgs=self._encryption(key, purpose))
            except S3UploadFailedError as error:
                raise UpstreamFailed(
                    f"object {key!a} could not be uploaded", hint="check the role and the network", is_retryable=True
                ) from error

    def list(self, prefix: str) -> Iterator[StoredObject]:
        check_prefix(prefix)
        with translated(f"objects under {prefix!a}"):
            for page in self._s3.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix):
                for entry in page.get("Contents", ()):
                    yield _stored(entry["Key"], entry, "Size")

    def folders(self, prefix: str, *, after: str = "") -> Iterator[str]:
        check_folder_prefix(prefix)
        # Behind every key of the folder: `0` follows the slash.
        begin = {"StartAfter": f"{after}0"} if after else {}
        with translated(f"folders under {prefix!a}"):
            pages = self._s3.get_paginator("list_objects_v2").paginate(
                Bucket=self._bucket, Prefix=prefix, Delimiter="/", **begin
            )
            for page in pages:
                names = [entry["Prefix"][:-1] for entry in page.get("CommonPrefixes", ())]
                yield from (name for name in names if not after or f"{name}/" > f"{after}/")

    def local_copy(self, key: str) -> Path:
        etag = self._head(key)["ETag"]
        with self._on(key) as where:
            return self._cache.copy(key, etag, partial(self._s3.get_object, **where))

    def link(self, key: str, *, seconds: int) -> str:
        self._head(key)
        with self._on(key) as where:
            return self._s3.generate_presigned_url("get_object", Params=where, ExpiresIn=seconds)

    def upload_link(self, key: str, *, seconds: int) -> str:
        """Encrypted as the bucket says: who writes by it sends no header of ours."""
        with self._on(key) as where:
            return self._s3.generate_presigned_url("put_object", Params=where, ExpiresIn=seconds)

    @property
    def _s3(self) -> Any:
        return self._clients.client("s3")

    def _head(self, key: str) -> dict[str, Any]:
        with self._on(key) as where:
            return self._s3.head_object(**where)

    def _encryption(self, key: str, purpose: str) -> dict[str, str]:
        if not self._kms_key_id:
            return {}
        context = json.dumps({"job_id": key.split("/")[0], "tool": purpose})
        return {
            "ServerSideEncryption": "aws:kms",
            "SSEKMSKeyId": self._kms_key_id,
            "SSEKMSEncryptionContext": base64.b64encode(context.encode()).decode(),
        }

    @contextmanager
    def _on(self, key: str) -> Generator[dict[str, str]]:
        where = {"Bucket": self._bucket, "Key": check_key(key)}
        try:
            with translated(f"object {key!a}"):
                yield where
        except NotFound as error:
            raise ObjectMissing(
                f"there is no object {key!a}", hint="list the keys under its prefix to see what is there"
            ) from error
        except OSError as error:
            raise UpstreamFailed(
                f"object {key!a}: its local copy failed: {error.strerror}", hint="check free space and TMPDIR"
            ) from error


def _stored(key: str, answer: dict[str, Any], size: str) -> StoredObject:
    return StoredObject(key=key, size=answer[size], modified=answer["LastModified"])
