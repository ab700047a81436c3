"""Member names as an attacker may write them, made into paths inside the bundle or refused."""

import re
import unicodedata

from affidavit.errors import AffidavitError

_DRIVE = re.compile(r"^[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class UnsafeName(AffidavitError):
    """The member must not be stored; the message says why."""


def printable(name: str) -> str:
    """The name as it can be shown and stored in JSON: nothing invisible, no half characters."""
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def safe_path(name: str, *, longest: int) -> str:
    """A relative path with `/` between its parts, none of them `.` or `..`. Raises UnsafeName."""
    if _CONTROL.search(name):
        raise UnsafeName("its name holds control characters")
    if name.startswith("/") or _DRIVE.match(name):
        raise UnsafeName("its name is an absolute path")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise UnsafeName("its name leaves the bundle")
    if not parts:
        raise UnsafeName("its name is empty")
    path = "/".join(printable(part) for part in parts)
    if len(path.encode()) > longest or any(len(part.encode()) > 255 for part in parts):
        raise UnsafeName("its name is too long")
    return path


def collision_key(path: str) -> str:
    """Equal for two paths that some file system would take for one."""
    return unicodedata.normalize("NFC", path).casefold()
