"""Writes to a terminal: in colour when wanted, and without characters that a log line could control it with."""

import sys

from rich.console import Console
from rich.text import Text

from affidavit.evidence.severity import Severity

STYLES = {
    Severity.CRITICAL: "bold white on red",
    Severity.HIGH: "bold red",
    Severity.MEDIUM: "bold yellow",
    Severity.LOW: "cyan",
    Severity.INFO: "dim",
}


# The width of a table in a file or pipe, so that no column is cut. Other lines may be longer.
_WIDE = 240
_NARROWEST = 20


def make_console(*, no_color: bool, to_errors: bool = False) -> Console:
    stream = sys.stderr if to_errors else sys.stdout
    # Wrapping is for screens; a file or pipe gets whole lines.
    return Console(
        file=stream,
        width=None if stream.isatty() else _WIDE,
        no_color=no_color or None,  # None: the NO_COLOR variable decides
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=not stream.isatty(),
    )


def print_hanging(console: Console, first: str, content: Text, *, rest: str = "") -> None:
    """Wraps `content` with a hanging indent: further lines begin with `rest`, or with spaces."""
    rest = rest or " " * len(first)
    width = max(console.width - len(first), _NARROWEST)
    lines = [content] if console.soft_wrap else content.wrap(console, width)
    for number, line in enumerate(lines):
        console.print(Text.assemble(rest if number else first, line))


def harmless(text: str) -> str:
    """Control, bidirectional and other invisible characters shown as escapes."""
    return "".join(char if _is_harmless(char) else _escaped(char) for char in text)


def _is_harmless(char: str) -> bool:
    return char.isprintable() or char == "\t"


def _escaped(char: str) -> str:
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"


def text(content: str, style: str = "") -> Text:
    return Text(harmless(content), style=style)
