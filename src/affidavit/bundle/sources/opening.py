"""Opens a bundle: recognizes its form by its bytes, or refuses it and says what was expected."""

import shutil
import stat
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from affidavit.bundle.binary_detection import Content, content_of
from affidavit.bundle.byte_range_reader import head_of
from affidavit.bundle.file_recognition import HEAD, RecognisedBy, recognise
from affidavit.bundle.file_roles import role_of
from affidavit.bundle.safety.limits import UnpackLimits
from affidavit.bundle.safety.paths import known_as, printable
from affidavit.bundle.sources.compression import (
    COMPRESSED_NAMES,
    NAME_ENDINGS,
    TAR_NAMES,
    Compression,
    compression_of,
    decompressed,
)
from affidavit.bundle.sources.directory import DirectorySource
from affidavit.bundle.sources.single_log_files import LogFilesSource, member_names
from affidavit.bundle.sources.source import MemberDamaged, Source
from affidavit.bundle.sources.tar import TarSource
from affidavit.bundle.sources.zip import ZipSource
from affidavit.errors import EvidenceUnavailable, InputRefused

EXPECTED = (
    "a node log bundle: .tar.gz, .tgz, .tar, .zip, or the directory it was unpacked to; "
    "or single logs (kubelet.log, messages, dmesg, …), compressed or not"
)
_SNIFFED = 512
# Of a directory in which no name tells a log, the beginnings of so many files are looked at.
_LOOKED_INTO = 500
_OTHERS = {
    b"%PDF": "a PDF document",
    b"7z\xbc\xaf": "a 7z archive",
    b"\x7fELF": "a program",
    b"\x89PNG": "a picture",
    b"Rar!": "a RAR archive",
}


@dataclass(frozen=True, kw_only=True)
class OpenedBundle:
    """`archive` is None for a directory and for several files, which are read in place."""

    name: str
    source: Source
    archive: Path | None


@contextmanager
def open_bundle(
    path: Path | Sequence[Path], *, limits: UnpackLimits, name: str | None = None
) -> Generator[OpenedBundle]:
    """Raises InputRefused when the path is neither a bundle nor a log. Several paths must all be logs."""
    opened = _opened_one(path, limits, name) if isinstance(path, Path) else _opened_several(path, limits, name)
    try:
        yield opened
    finally:
        opened.source.close()


def _opened_one(path: Path, limits: UnpackLimits, name: str | None) -> OpenedBundle:
    mode = _mode_of(path)
    name = name or printable(path.resolve().name or str(path))
    if stat.S_ISDIR(mode):
        return OpenedBundle(name=name, source=_open_directory(path, name, limits), archive=None)
    if stat.S_ISREG(mode):
        # A link that the user names is followed here, once.
        return OpenedBundle(name=name, source=_open_file(path.resolve(), name, limits), archive=path)
    raise InputRefused(f"{path} is neither a file nor a directory", hint=f"expected {EXPECTED}")


def _opened_several(paths: Sequence[Path], limits: UnpackLimits, name: str | None) -> OpenedBundle:
    if len(paths) == 1:
        return _opened_one(paths[0], limits, name)
    paths = [path.resolve() if stat.S_ISREG(_mode_of(path)) else path for path in paths]
    for path in paths:
        if not stat.S_ISREG(_mode_of(path)) or not isinstance(_open_file(path, path.name, limits), LogFilesSource):
            raise InputRefused(
                f"{path} is no single log, and only logs can be analyzed together",
                hint="analyze bundles one by one, or ask over all of them with `affidavit fleet add DIR`",
            )
    return OpenedBundle(name=name or f"{len(paths)} files", source=LogFilesSource(member_names(paths)), archive=None)


def save_stream(stream: BinaryIO, to: Path) -> Path:
    """Copies standard input to a file, because it cannot be read twice."""
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


def _open_directory(path: Path, name: str, limits: UnpackLimits) -> Source:
    """Refuses a directory in which neither a name nor the beginning of a file tells a log: it could be anything."""
    root = _files_root(path).resolve()
    source = DirectorySource(root)
    names = list(islice(source.names(), limits.members))
    if names and not any(_may_be_log(file) for file in names) and not _holds_log(root, names):
        source.close()
        raise no_logs(name, len(names))
    return source


def _may_be_log(name: str) -> bool:
    return role_of(known_as(name)).is_read or name.endswith(TAR_NAMES)


def _holds_log(root: Path, names: Iterable[str]) -> bool:
    for name in islice(names, _LOOKED_INTO):
        head = _plain_head(root / name, HEAD)
        if content_of(head) is Content.TEXT and recognise(name, head).by is RecognisedBy.CONTENT:
            return True
    return False


def _files_root(path: Path) -> Path:
    """What `--out DIR --extract` wrote is a bundle too: its files lie one folder deeper."""
    extracted = path / "extracted"
    return extracted if (path / "manifest.json").is_file() and extracted.is_dir() else path


def _open_file(path: Path, name: str, limits: UnpackLimits) -> Source:
    head = _first_bytes(path)
    if not head:
        raise InputRefused(f"{name} is empty", hint=f"expected {EXPECTED}; copy or collect it again")
    compression = compression_of(head)
    if compression is not None:
        return _open_compressed(path, name, compression, limits)
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return ZipSource(path, limits=limits)
    if is_tar_header(head) or head[257:262] == b"ustar":
        return TarSource(path, limits=limits)
    if _is_log(name, head_of(path, HEAD)):
        return LogFilesSource({_log_name(name): path})
    looks_like = next((what for magic, what in _OTHERS.items() if head.startswith(magic)), "no archive and no log")
    raise InputRefused(f"{name} is {looks_like}", hint=f"expected {EXPECTED}")


def _first_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_SNIFFED)
    except OSError as error:
        raise InputRefused(f"{path} cannot be read: {error.strerror}", hint="check its permissions") from error


def _open_compressed(path: Path, name: str, compression: Compression, limits: UnpackLimits) -> Source:
    head = _plain_head(path, HEAD)
    # An archive whose very first header is damaged still says ustar.
    if is_tar_header(head[:_SNIFFED]) or head[257:262] == b"ustar" or (head and not head[:_SNIFFED].strip(b"\0")):
        return TarSource(path, limits=limits, compression=compression)
    if not head:
        raise InputRefused(
            f"{name} is a {compression} file with nothing readable in it", hint="copy it again, or collect again"
        )
    if not _is_log(name, head):
        raise InputRefused(
            f"{name} is one compressed file, and neither an archive nor a log", hint=f"expected {EXPECTED}"
        )
    named = _log_name(name)
    return LogFilesSource({named if named.endswith(COMPRESSED_NAMES) else named + NAME_ENDINGS[compression]: path})


def _is_log(name: str, head: bytes) -> bool:
    """Whoever names a single file says that it is a log: one that carries times is taken for one."""
    return content_of(head) is Content.TEXT and recognise(known_as(name), head).role.is_read


def _log_name(name: str) -> str:
    return name.replace("/", "_")


def _plain_head(path: Path, size: int) -> bytes:
    """The first bytes of a file, decompressed where it is compressed."""
    compression = compression_of(head := head_of(path, size))
    if compression is None:
        return head
    stream = decompressed(path, compression)
    view = memoryview(bytearray(size))
    done = 0
    try:
        while done < size and (count := stream.readinto(view[done:])):
            done += count
    except MemberDamaged:
        pass  # judged by what there is
    finally:
        stream.close()
    return bytes(view[:done])
