"""Objects as files of a directory: an object's key is its path."""

import os
import shutil
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from stat import S_ISREG

from affidavit.adapters.object_keys import RESERVED, check_folder_prefix, check_key, check_prefix, check_range
from affidavit.errors import InputRefused, UpstreamFailed
from affidavit.ports.object_store import ObjectMissing, StoredObject


class DirectoryObjectStore:
    """Creates nothing before the first write. Unlike in S3, a key cannot also be the folder of another key. Files whose
    names are no valid keys are ignored."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def get(self, key: str) -> bytes:
        path = self._path(key)
        with _translated(key):
            return path.read_bytes()

    def read(self, key: str, start: int, end: int) -> bytes:
        check_range(start, end)
        path = self._path(key)
        with _translated(key), path.open("rb") as file:
            file.seek(start)
            return file.read(end - start)

    def head(self, key: str) -> StoredObject | None:
        path = self._path(key)
        try:
            with _translated(key):
                return _stored(key, path.stat())
        except ObjectMissing:
            return None

    def put(self, key: str, data: bytes, *, purpose: str) -> None:
        target = self._path(key)
        with self._incoming(key) as temporary:
            _write(temporary, data)
            _publish(temporary, target)

    def put_new(self, key: str, data: bytes, *, purpose: str) -> bool:
        target = self._path(key)
        with self._incoming(key) as temporary:
            _write(temporary, data)
            return _publish_new(temporary, target)

    def put_file(self, key: str, path: Path, *, purpose: str) -> None:
        target = self._path(key)
        if not path.is_file():
            raise InputRefused(f"{path} is no file", hint="it is gone, or it was never written")
        with self._incoming(key) as temporary:
            shutil.copyfile(path, temporary)
            _sync(temporary)
            _publish(temporary, target)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        folder, _, _ = check_prefix(prefix).rpartition("/")
        for key, path in _walk(self._root / folder, f"{folder}/" if folder else "", prefix):
            # A file that went away since the folder was read is not there any more.
            with suppress(FileNotFoundError):
                if (stored := _stored(key, path.stat())) is not None:
                    yield stored

    def folders(self, prefix: str, *, after: str = "") -> Iterator[str]:
        check_folder_prefix(prefix)
        for name in _folder_names(self._root):
            # An empty folder holds no key.
            if name.startswith(prefix) and (not after or f"{name}/" > f"{after}/") and any(self.list(f"{name}/")):
                yield name

    def local_copy(self, key: str) -> Path:
        if self.head(key) is None:
            raise _missing(key)
        return self._path(key)

    def link(self, key: str, *, seconds: int) -> str:
        return str(self.local_copy(key).absolute())

    def _path(self, key: str) -> Path:
        return self._root / check_key(key)

    @contextmanager
    def _incoming(self, key: str) -> Generator[Path]:
        """A file beside the objects, on their file system, that is gone afterwards whatever happens."""
        with _translated(key):
            folder = self._root / RESERVED
            folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=folder)
            os.close(handle)
            try:
                yield Path(name)
            finally:
                Path(name).unlink(missing_ok=True)


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    _sync(path)


def _publish(temporary: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary.replace(target)
    _sync(target.parent)


def _publish_new(temporary: Path, target: Path) -> bool:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        # A hard link, unlike a rename, refuses a name that is taken: of many writers one succeeds.
        target.hardlink_to(temporary)
    except FileExistsError:
        if target.is_dir():
            raise IsADirectoryError from None
        return False
    _sync(target.parent)
    return True


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _stored(key: str, status: os.stat_result) -> StoredObject | None:
    if not S_ISREG(status.st_mode):
        return None
    return StoredObject(key=key, size=status.st_size, modified=datetime.fromtimestamp(status.st_mtime, UTC))


def _walk(folder: Path, base: str, prefix: str) -> Iterator[tuple[str, Path]]:
    """Keys in the order of their bytes: a folder sorts with its slash, as its keys do."""
    try:
        entries = [
            (entry.name, entry.is_dir(follow_symlinks=False)) for entry in os.scandir(folder) if _is_text(entry.name)
        ]
    except (FileNotFoundError, NotADirectoryError):
        return
    names = sorted((f"{name}/" if is_folder else name).encode() for name, is_folder in entries)
    for name in (encoded.decode() for encoded in names):
        key = base + name
        if not (key.startswith(prefix) or prefix.startswith(key)) or key == f"{RESERVED}/":
            continue
        if name.endswith("/"):
            yield from _walk(folder / name, key, prefix)
        elif key.startswith(prefix):
            yield key, folder / name


def _folder_names(root: Path) -> list[str]:
    try:
        names = [entry.name for entry in os.scandir(root) if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []
    return sorted((name for name in names if name != RESERVED and _is_text(name)), key=lambda name: f"{name}/".encode())


def _is_text(name: str) -> bool:
    """Bytes that are not UTF-8 come as surrogates, which no key has."""
    return not any("\ud800" <= char <= "\udfff" for char in name)


@contextmanager
def _translated(key: str) -> Generator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise _missing(key) from error
    except (IsADirectoryError, NotADirectoryError, FileExistsError) as error:
        raise InputRefused(
            f"object {key!a} has the same path as a folder, or lies below another object", hint="choose another key"
        ) from error
    except OSError as error:
        raise UpstreamFailed(
            f"object {key!a} could not be read or written: {error.strerror}",
            hint="check that the data folder is writable and has room",
        ) from error


def _missing(key: str) -> ObjectMissing:
    return ObjectMissing(f"there is no object {key!a}", hint="list the keys under its prefix to see what is there")
