"""Checks object keys, the same way on every adapter, so that what works on a laptop works in S3."""

from affidavit.errors import InputRefused

MOST_KEY_BYTES = 1024
# What file systems take for one name. S3 has no such limit, but a key that only S3 can hold could not be moved.
MOST_SEGMENT_BYTES = 255
# Unfinished writes of the directory store.
RESERVED = ".incoming"


def check_key(key: str) -> str:
    """The key itself. Raises InputRefused for one that could leave its place or that some adapter cannot hold."""
    if not key:
        raise _refused(key, "it is empty")
    if len(_encoded(key)) > MOST_KEY_BYTES:
        raise _refused(key, f"it is longer than {MOST_KEY_BYTES} bytes")
    for segment in key.split("/"):
        _check_segment(key, segment)
    if key.split("/")[0] == RESERVED:
        raise _refused(key, f"{RESERVED} holds unfinished writes")
    return key


def check_prefix(prefix: str) -> str:
    """A prefix may be empty or end anywhere in a name, but may not climb either."""
    _encoded(prefix)
    if prefix.startswith("/") or "//" in prefix or {".", ".."} & set(prefix.split("/")[:-1]) or "\0" in prefix:
        raise _refused(prefix, "a prefix is the beginning of a key")
    return prefix


def check_folder_prefix(prefix: str) -> str:
    """The beginning of a first segment."""
    if "/" in prefix:
        raise _refused(prefix, "folders are asked for by the beginning of their name")
    return check_prefix(prefix)


def check_range(start: int, end: int) -> None:
    if start < 0 or end < start:
        raise InputRefused(
            f"bytes {start} to {end} are no range", hint="start is 0 or more, end is exclusive and not before start"
        )


def _check_segment(key: str, segment: str) -> None:
    if segment in ("", ".", ".."):
        raise _refused(key, "it has an empty, . or .. segment")
    if "\0" in segment:
        raise _refused(key, "it has a NUL")
    if len(segment.encode()) > MOST_SEGMENT_BYTES:
        raise _refused(key, f"a segment is longer than {MOST_SEGMENT_BYTES} bytes")


def _encoded(key: str) -> bytes:
    try:
        return key.encode()
    except UnicodeEncodeError:
        raise _refused(key, "it is not Unicode text") from None


def _refused(key: str, why: str) -> InputRefused:
    return InputRefused(
        f"object key {key[:100]!a} cannot be used: {why}", hint="name it like eks_i-0abc/extracted/x.log"
    )
