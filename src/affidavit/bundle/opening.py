"""Tell what a path is by its bytes, open it, or say what was expected."""

import shutil
import stat
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from affidavit.bundle.directory import DirectorySource
from affidavit.bundle.gunzip import GZIP_MAGIC, Gunzip
from affidavit.bundle.layout import role_of
from affidavit.bundle.limits import Limits
from affidavit.bundle.paths import known_as, printable
from affidavit.bundle.source import MemberDamaged, Source
from affidavit.bundle.tar import TarSource
from affidavit.bundle.zip import ZipSource
from affidavit.errors import EvidenceUnavailable, InputRefused

EXPECTED = "a node log bundle: .tar.gz, .tgz, .tar, .zip, or the directory it was unpacked to"
TAR_NAMES = (".tar.gz", ".tgz", ".tar")
_SNIFFED = 512
_OTHERS = {
    b"%PDF": "a PDF document",
    b"\xfd7zXZ": "an xz archive",
    b"BZh": "a bzip2 archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"7z\xbc\xaf": "a 7z archive",
    b"\x7fELF": "a program",
    b"\x89PNG": "a picture",
    b"Rar!": "a RAR archive",
}


@dataclass(frozen=True, kw_only=True)
class OpenedBundle:
    """`archive` is None for a directory, which is read in place."""

    name: str
    source: Source
    archive: Path | None


@contextmanager
def open_bundle(path: Path, *, limits: Limits, name: str | None = None) -> Generator[OpenedBundle]:
    """Raises InputRefused when the path is not a bundle."""
    mode = _mode_of(path)
    name = name or printable(path.resolve().name or str(path))
    if stat.S_ISDIR(mode):
        source, archive = _open_directory(path, name, limits), None
    elif stat.S_ISREG(mode):
        source, archive = _open_archive(path, name, limits), path
    else:
        raise InputRefused(f"{path} is neither a file nor a directory", hint=f"expected {EXPECTED}")
    try:
        yield OpenedBundle(name=name, source=source, archive=archive)
    finally:
        source.close()


def save_stream(stream: BinaryIO, to: Path) -> Path:
    """Standard input cannot be read twice, so it is kept while it is analyzed."""
    try:
        with to.open("wb") as file:
            shutil.copyfileobj(stream, file, 1 << 20)
    except OSError as error:
        raise EvidenceUnavailable(
            f"standard input could not be stored: {error.strerror}", hint="point TMPDIR at a larger disk"
        ) from error
    return to


def is_tar_header(block: bytes) -> bool:
    """By the checksum, which every tar has, not by the magic, which old ones lack."""
    if len(block) < _SNIFFED:
        return False
    digits = block[148:156].strip(b" \0")
    try:
        claimed = int(digits, 8)
    except ValueError:
        return False
    return claimed == sum(block[:148]) + 8 * 0x20 + sum(block[156:512])


def no_logs(name: str, files: int) -> InputRefused:
    return InputRefused(f"{name} has {files} files and none of them is a node's log", hint=f"expected {EXPECTED}")


def _mode_of(path: Path) -> int:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        raise InputRefused(f"there is no {path}", hint=f"expected {EXPECTED}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputRefused(f"{path} cannot be opened: {reason}", hint="check the path and its permissions") from error


def _open_directory(path: Path, name: str, limits: Limits) -> Source:
    """Refuses by names alone what holds no log: a home directory would take long to read, for nothing."""
    source = DirectorySource(_files_root(path))
    names = list(islice(source.names(), limits.members))
    if names and not any(role_of(known_as(file)).is_read or file.endswith(TAR_NAMES) for file in names):
        raise no_logs(name, len(names))
    return source


def _files_root(path: Path) -> Path:
    """What `--out DIR --extract` wrote is a bundle too: its files lie one folder deeper."""
    extracted = path / "extracted"
    return extracted if (path / "manifest.json").is_file() and extracted.is_dir() else path


def _open_archive(path: Path, name: str, limits: Limits) -> Source:
    try:
        with path.open("rb") as file:
            head = file.read(_SNIFFED)
    except OSError as error:
        raise InputRefused(f"{path} cannot be read: {error.strerror}", hint="check its permissions") from error
    if not head:
        raise InputRefused(f"{name} is empty", hint=f"expected {EXPECTED}; copy or collect it again")
    if head.startswith(GZIP_MAGIC):
        _refuse_unless_tar(_inflated_head(path), name)
        return TarSource(path, limits=limits, is_gzip=True)
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return ZipSource(path, limits=limits)
    if is_tar_header(head) or head[257:262] == b"ustar":
        return TarSource(path, limits=limits, is_gzip=False)
    looks_like = next((what for magic, what in _OTHERS.items() if head.startswith(magic)), "no archive")
    raise InputRefused(f"{name} is {looks_like}", hint=f"expected {EXPECTED}")


def _inflated_head(path: Path) -> bytes:
    stream = Gunzip(path)
    head = memoryview(bytearray(_SNIFFED))
    done = 0
    try:
        while done < _SNIFFED and (count := stream.readinto(head[done:])):
            done += count
    except MemberDamaged:
        pass  # judged by what there is
    finally:
        stream.close()
    return bytes(head[:done])


def _refuse_unless_tar(head: bytes, name: str) -> None:
    # An archive whose very first header is damaged still says ustar.
    if is_tar_header(head) or head[257:262] == b"ustar" or (head and not head.strip(b"\0")):
        return
    if not head:
        raise InputRefused(f"{name} is a gzip file with nothing readable in it", hint="copy it again, or collect again")
    raise InputRefused(f"{name} is one gzipped file, not an archive of logs", hint=f"expected {EXPECTED}")
