"""What is handed in to be ingested: an archive in the store, or an archive or folder on this machine."""

from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from affidavit.errors import InputRefused
from affidavit.nodes.ingest.ingest_records import fingerprint_of
from affidavit.nodes.library.object_keys import instance_in
from affidavit.ports.object_store import ObjectMissing, ObjectStore


@dataclass(frozen=True, kw_only=True)
class Upload:
    """`key` is None for a local path, and `size` is known of a stored archive alone."""

    source: str
    key: str | None
    path: Path | None
    fingerprint: str
    size: int = 0

    @property
    def instance_id(self) -> str | None:
        """What the name says; the bundle may say otherwise."""
        return instance_in(self.source if self.key is not None else Path(self.source).name)

    @property
    def name(self) -> str | None:
        """A stored archive's own name need not tell the instance; its key does."""
        if self.key is None:
            return None
        name = self.key.rpartition("/")[2]
        return name if instance_in(name) or self.instance_id is None else f"{self.instance_id}_{name}"

    def refuse_larger(self, most_bytes: int) -> None:
        """Raises InputRefused, before a byte of it is read."""
        if self.size > most_bytes:
            raise InputRefused(
                f"the archive {self.source!a} has {self.size >> 20} MiB; at most {most_bytes >> 20} are read",
                hint="collect the node again with fewer logs, or raise MAX_UPLOAD_MIB (parameter MaxUploadMiB)",
            )

    def local(self, objects: ObjectStore) -> Path:
        return objects.local_copy(self.key) if self.key is not None else self.path or Path(self.source)


def upload_of(source: str | Path, objects: ObjectStore) -> Upload:
    if isinstance(source, Path):
        path = source.absolute()
        return Upload(source=str(path), key=None, path=path, fingerprint=fingerprint_of(*_path_traits(path)))
    stored = objects.head(source)
    if stored is None:
        raise ObjectMissing(f"there is no archive {source!a}", hint="collect the node, or check the key")
    fingerprint = fingerprint_of(stored.key, stored.size, stored.modified.isoformat())
    return Upload(source=source, key=source, path=None, fingerprint=fingerprint, size=stored.size)


def _path_traits(path: Path) -> Generator[object]:
    if not path.exists():
        raise InputRefused(f"there is no {path}", hint="give an archive or the folder it was unpacked to")
    yield path
    for entry in [path] if path.is_file() else sorted(path.rglob("*")):
        status = entry.lstat()
        yield f"{entry} {status.st_mode} {status.st_size if entry.is_file() else 0} {status.st_mtime_ns}"
