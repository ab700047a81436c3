"""Standard output in any locale: a character it cannot show is escaped, JSON is UTF-8 whatever the locale says."""

import sys
from io import TextIOWrapper


def print_anything() -> None:
    """As `harmless` escapes what is invisible: nothing is lost, and nothing fails."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def write_json(document: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(document)
    sys.stdout.buffer.flush()
