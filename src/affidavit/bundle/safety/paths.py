"""Turns member names into safe relative paths, or refuses them."""

import re
import unicodedata

from affidavit.bundle.safety.limits import UnpackLimits
from affidavit.errors import AffidavitError

_DRIVE = re.compile(r"^[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SEPARATORS = re.compile(r"[/\\]")
# What every file system we may unpack to can store.
_LONGEST_PART = 255
_SHOWN = 200
_COMPRESSED_NAMES = (".gz", ".xz", ".bz2", ".zst")


class UnsafeName(AffidavitError):
    """The member must not be stored; the message says why."""


def printable(name: str) -> str:
    """The name as it can be shown and stored in JSON: nothing invisible, no half characters."""
    if name.isprintable():
        return name
    return "".join(char if char.isprintable() else _escaped(char) for char in name)


def shown(name: str) -> str:
    """A name for lists and messages, where it only has to be recognized: printable, not too long, never empty."""
    text = printable(name[: _SHOWN + 1])
    return (text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…") or "(no name)"


def safe_path(name: str, *, limits: UnpackLimits, within: str = "") -> str:
    """A relative path with `/` between its parts, none of them `.` or `..`. Raises UnsafeName.

    `within` is the safe path of a folder, with a `/` at its end, to put in front.
    """
    if _CONTROL.search(name):
        raise UnsafeName("its name holds control characters")
    if name.startswith(("/", "\\")) or _DRIVE.match(name):
        raise UnsafeName("its name is an absolute path")
    parts = [printable(part) for part in name.split("/") if part not in ("", ".")]
    # A backslash is part of an honest name (systemd escapes with it), and of the escapes that `printable` writes;
    # it must not lead out on Windows either.
    if any(".." in _SEPARATORS.split(part) for part in parts):
        raise UnsafeName("its name leaves the bundle")
    if not parts:
        raise UnsafeName("its name is empty")
    path = within + "/".join(parts)
    if len(path.encode()) > limits.longest_path or any(len(part.encode()) > _LONGEST_PART for part in parts):
        raise UnsafeName("its name is too long")
    if path.count("/") >= limits.deepest_path:
        raise UnsafeName(f"it lies {limits.deepest_path} folders deep or deeper")
    return path


def known_as(path: str) -> str:
    """A lone compressed file is stored as `x.log.gz/x.log` and known by the name it had in the bundle."""
    folder, _, name = path.rpartition("/")
    packed = folder.rpartition("/")[2]
    return folder if name and packed in (f"{name}{ending}" for ending in _COMPRESSED_NAMES) else path


def collision_key(path: str) -> str:
    """Equal for two paths that some file system would take for one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())


def _escaped(char: str) -> str:
    code = ord(char)
    # A byte that is not UTF-8 reaches us as one of these.
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return char.encode("unicode_escape").decode()
