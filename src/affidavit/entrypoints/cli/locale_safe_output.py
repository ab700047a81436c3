"""Prints in any locale: a character that it cannot show is escaped. JSON is always UTF-8."""

import sys
from io import TextIOWrapper


def print_anything() -> None:
    """Escapes characters that the locale cannot show, in the form that `harmless` uses."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def write_json(document: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(document)
    sys.stdout.buffer.flush()
