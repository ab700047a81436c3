"""Where a line stood, for lines that may be part of a longer secret: the last one of a private key is like a word."""

import os
import re
from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter

from affidavit.evidence.finding import Evidence
from affidavit.nodes.stored_lines import StoredLines
from affidavit.redaction.redact import Around

# Several times the longest key that OpenSSL or OpenSSH writes.
AROUND = 16 << 10
_KEY_LINE = re.compile(r"[A-Za-z0-9+/]{1,76}={0,2}\s*")
_BEGIN, _END, _KEY = b"-----BEGIN", b"-----END", b"PRIVATE KEY"


def surroundings(evidence: Iterable[Evidence], lines: StoredLines) -> dict[str, Around]:
    """By excerpt; only those of lines that stand in a private key."""
    doubtful = [each for each in evidence if each.byte_offset is not None and _KEY_LINE.fullmatch(each.excerpt)]
    found: dict[str, Around] = {}
    for key, group in groupby(sorted(doubtful, key=attrgetter("full_key")), key=attrgetter("full_key")):
        with lines.location(key).open("rb", buffering=0) as file:
            for each in group:
                before = _before(file.fileno(), each)
                if _is_in_key(before):
                    found[each.excerpt] = Around(before=before.decode("utf-8", "replace"))
    return found


def _is_in_key(before: bytes) -> bool:
    begin = before.rfind(_BEGIN)
    return begin > before.rfind(_END) and _KEY in before[begin : begin + 80]


def _before(file: int, evidence: Evidence) -> bytes:
    start = evidence.byte_offset.start if evidence.byte_offset is not None else 0
    first = max(0, start - AROUND)
    return os.pread(file, start - first, first)
