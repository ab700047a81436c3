"""Opens files without following a symbolic link at any part of the path."""

import os
from pathlib import Path

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# O_NOFOLLOW guards the last part of a path alone, so each folder on the way is opened by itself. Only Linux can open a
# folder that may be passed through but not listed.
_PASS_THROUGH = getattr(os, "O_PATH", None)


def open_without_links(location: Path) -> int:
    """A descriptor to read from. Raises OSError when the file, or a folder on the way to it, is now a link.

    `location` must have been resolved by whoever chose its root: links that a user named are followed once, there.
    """
    if _PASS_THROUGH is None:
        return os.open(location, _READ)
    folder = open_folder(location.parent)
    try:
        return os.open(location.name, _READ, dir_fd=folder)
    finally:
        os.close(folder)


def open_folder(path: Path) -> int:
    """A descriptor to pass through, not to list."""
    flags = (_PASS_THROUGH or os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    first, *parts = path.absolute().parts
    folder = os.open(first, flags)
    for part in parts:
        try:
            deeper = os.open(part, flags, dir_fd=folder)
        finally:
            os.close(folder)
        folder = deeper
    return folder


def file_opener(path: str, _flags: int) -> int:
    """For `open(…, opener=…)`."""
    return open_without_links(Path(path))
