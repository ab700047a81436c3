"""Downloaded objects, kept by ETag and bounded by the disk, so that a second question costs no second download."""

import hashlib
import math
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR
from typing import Any

from affidavit.errors import UpstreamFailed

MOST_BYTES = 4 << 30
# The disk is also where bundles are unpacked and rules are kept.
SHARE_OF_DISK = 0.5
# Who got a path opens it soon; after that the file may go (an open file stays readable).
GRACE_SECONDS = 300
# A download that has not grown for so long belongs to a process that died.
ABANDONED_SECONDS = 3600
# Until the bound is near, the folder is looked through this often: others may fill it too.
LOOK_AGAIN_SECONDS = 60


class DownloadCache:
    """Threads and processes may share the folder: a copy appears by rename, whole or not at all."""

    def __init__(self, folder: Path, *, most_bytes: int = MOST_BYTES) -> None:
        self._folder, self._most_bytes = folder, most_bytes
        self._kept = 0
        self._looked_at = -math.inf

    def copy(self, key: str, etag: str, fetch: Callable[[], Mapping[str, Any]]) -> Path:
        """As `etag` names it, or as `fetch` finds it when it has changed since: what arrives says what it is."""
        self._make_folder()
        path = self._path(key, etag)
        try:
            os.utime(path)
        except FileNotFoundError:
            answer = fetch()
            path = self._path(key, answer["ETag"])
            self._make_room(answer["ContentLength"])
            self._download(path, answer["ContentLength"], answer["Body"])
        return path

    def _path(self, key: str, etag: str) -> Path:
        """The name stays: what a file is shows in its ending."""
        return self._folder / hashlib.sha256(f"{key}\0{etag}".encode()).hexdigest() / key.rpartition("/")[2]

    def _make_folder(self) -> None:
        """Ours alone: what somebody else put there would be read as evidence."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = self._folder.stat(follow_symlinks=False)
        if not S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
            raise UpstreamFailed(f"{self._folder} belongs to somebody else", hint="remove it, or set TMPDIR")

    def _download(self, path: Path, size: int, body: Any) -> None:
        with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as file:
            temporary = Path(file.name)
            try:
                shutil.copyfileobj(body, file, 1 << 20)
                file.flush()
                if file.tell() != size:
                    raise UpstreamFailed(
                        f"{path.name}: {file.tell()} of {size} bytes arrived", hint="try again", is_retryable=True
                    )
                _put_in_place(temporary, path)
            except OSError as error:
                raise UpstreamFailed(
                    f"{path.name} ({size} bytes) could not be kept in {self._folder}: {error.strerror or error}",
                    hint="give that disk more room, or set TMPDIR",
                    is_retryable=True,
                ) from error
            finally:
                temporary.unlink(missing_ok=True)

    def _make_room(self, size: int) -> None:
        """A bundle has hundreds of files, and looking through the folder for each would take as long as all of them."""
        self._kept += size
        if self._kept > self._most() or time.monotonic() - self._looked_at > LOOK_AGAIN_SECONDS:
            self._looked_at = time.monotonic()
            self._remove_abandoned()
            self._kept = self._remove_oldest(size)

    def _remove_oldest(self, size: int) -> int:
        """Returns how many bytes are kept, with the `size` that is coming."""
        known = sorted((_used(path) for path in self._folder.glob("*/*")), reverse=True)
        total, now, most = size, time.time(), self._most()
        for used, length, path in known:
            total += length
            if total > most and used < now - GRACE_SECONDS:
                _remove(path)
                total -= length
        return total

    def _most(self) -> int:
        """Of the whole disk, not of what is free: what is kept here is not free, and would shrink its own bound."""
        return min(self._most_bytes, int(shutil.disk_usage(self._folder).total * SHARE_OF_DISK))

    def _remove_abandoned(self) -> None:
        before = time.time() - ABANDONED_SECONDS
        for path in self._folder.iterdir():
            if path.is_file() and _used(path)[0] < before:
                path.unlink(missing_ok=True)


def _put_in_place(temporary: Path, path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    try:
        temporary.replace(path)
    except FileNotFoundError:
        # Somebody made room and took the empty folder away.
        path.parent.mkdir(exist_ok=True)
        temporary.replace(path)


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    # Not empty when another object of this name is just arriving; gone when somebody else was faster.
    with suppress(OSError):
        path.parent.rmdir()


def _used(path: Path) -> tuple[float, int, Path]:
    try:
        status = path.stat()
    except FileNotFoundError:
        return (0.0, 0, path)
    return (status.st_mtime, status.st_size, path)
