"""Finds file systems that are full, from `df` and `df -i`, or read-only."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from affidavit.checks.computation_results import Found, NotComputable, Shown
from affidavit.checks.number_parsing import decimal, whole
from affidavit.checks.numbered_lines import Document

# Memory, layers over a device that has its own row, and images that are full by design.
_NO_DISK = ("overlay", "tmpfs", "devtmpfs", "udev", "squashfs", "erofs", "efivarfs", "shm", "none")
# In memory, and as necessary as a disk: sockets, locks and the state of containers lie there.
_IN_MEMORY = ("/run",)
_IMAGE_DEVICES = ("/dev/loop", "/dev/sr")
_IMAGE_TYPES = ("squashfs", "erofs", "iso9660", "overlay", "tmpfs")
# Bottlerocket's root is an image behind dm-verity: read-only, and as full as it was built.
_VERITY = ("/dev/dm-", "/dev/root")
# Only its bundles hold this file.
_BOTTLEROCKET_MOUNTS = "proc-mounts"


@dataclass(frozen=True)
class _Use:
    line: int
    device: str
    percent: int
    place: str


@dataclass(frozen=True)
class _Mount:
    line: int
    device: str
    place: str
    kind: str
    options: tuple[str, ...]


def use(
    documents: Sequence[Document], *, what: str, in_files: tuple[str, ...], from_percent: float, below_percent: float
) -> Iterator[Found]:
    """`what` is counted: space or inodes. A device with several mount points is shown once."""
    images = {mount.place for document in documents for mount in _mounts(document) if "ro" in mount.options}
    for document in (each for each in documents if each.path.rpartition("/")[2] in in_files):
        rows = list(_rows(document))
        if not rows:
            yield NotComputable(document.path, f"holds no table of df, so the use of {what} is unknown")
        seen: set[str] = set()
        for row in rows:
            is_ours = (
                (row.place in _IN_MEMORY or not row.device.startswith((*_NO_DISK, *_IMAGE_DEVICES)))
                and row.place not in images
                and row.device not in seen
            )
            if is_ours and from_percent <= row.percent < below_percent:
                seen.add(row.device)
                yield Shown(document.path, row.line, f"{row.percent} % of the {what} of {row.place} is used")


def read_only(documents: Sequence[Document], *, places: tuple[str, ...]) -> Iterator[Found]:
    """A `*` in a place stands for anything, slashes too."""
    for document in documents:
        for mount in _mounts(document):
            is_image = mount.kind in _IMAGE_TYPES or mount.device.startswith((*_images(document), *_IMAGE_DEVICES))
            is_meant = any(fnmatchcase(mount.place, place) for place in places)
            if is_meant and "ro" in mount.options and mount.device.startswith("/dev/") and not is_image:
                yield Shown(document.path, mount.line, f"{mount.device} is mounted read-only on {mount.place}")


def _images(document: Document) -> tuple[str, ...]:
    return _VERITY if document.path.endswith(_BOTTLEROCKET_MOUNTS) else _VERITY[:1]


def free_extents(documents: Sequence[Document], *, below: float) -> Iterator[Found]:
    """xfs_db freesp: small average free extents leave no room for new inode chunks."""
    wording = "average free extent size"
    for document in documents:
        for number, text in document.lines():
            size = decimal(text.strip().removeprefix(wording).strip()) if wording in text else None
            if size is not None and size < below:
                yield Shown(document.path, number, f"free extents have {size:g} blocks on average")


def _rows(document: Document) -> Iterator[_Use]:
    """Rows are recognised by shape, not by the header, whose words depend on the locale."""
    for number, text in document.lines():
        words = text.split(None, 5)
        percent = whole(words[4][:-1]) if len(words) == 6 and words[4].endswith("%") else None
        if percent is not None and words[5].startswith("/"):
            yield _Use(number, words[0], percent, words[5].strip())


def _mounts(document: Document) -> Iterator[_Mount]:
    """Both forms: `dev on / type xfs (rw,noatime)` and `dev / xfs rw,noatime 0 0`."""
    for number, text in document.lines():
        words = text.split()
        if len(words) >= 6 and words[1] == "on" and words[3] == "type" and words[5].startswith("("):
            options = words[5].strip("()").split(",")
            yield _Mount(number, words[0], words[2], words[4], tuple(options))
        elif len(words) == 6 and words[4:] == ["0", "0"]:
            yield _Mount(number, words[0], words[1], words[2], tuple(words[3].split(",")))
