"""Ends the command: the one table from our errors to exit codes."""

import os
from enum import IntEnum

from affidavit.entrypoints.package_extras import extra_with
from affidavit.errors import Conflict, EvidenceUnavailable, InputRefused, NotFound, UpstreamFailed

DEBUG = "AFFIDAVIT_DEBUG"
# Modules of the standard library that Windows lacks.
_POSIX = frozenset({"fcntl", "resource", "termios"})


class Exit(IntEnum):
    DONE = 0
    FOUND = 1
    REFUSED = 2
    UNAVAILABLE = 3
    BROKEN = 4
    INTERRUPTED = 130
    UNREAD = 141
    """The exit code that a shell gives a program whose reader went away."""


EXIT_CODES = """Exit codes: 0 done · 1 --fail-on was reached, or evidence does not verify · 2 the input was refused ·
3 the evidence could not be read or stored · 4 an error of Affidavit's own · 130 interrupted ·
141 nobody read the output"""

EVAL_EXIT_CODES = """Exit codes: 0 every gate holds · 1 a gate failed · 2 the input was refused ·
3 a result could not be written · 4 an error of Affidavit's own · 130 interrupted · 141 nobody read the output"""


def missing_extra(error: BaseException) -> str | None:
    """The extra that would bring the package whose import failed."""
    if not isinstance(error, ModuleNotFoundError) or error.name is None:
        return None
    extra = extra_with(error.name)
    return None if extra is None else extra.name


def exit_code_of(error: Exception) -> Exit:
    if missing_extra(error) is not None or (isinstance(error, ModuleNotFoundError) and error.name in _POSIX):
        return Exit.REFUSED
    match error:
        case InputRefused() | NotFound() | Conflict():
            return Exit.REFUSED
        case EvidenceUnavailable() | UpstreamFailed() | OSError():
            return Exit.UNAVAILABLE
        case _:
            return Exit.BROKEN


def sentence_of(error: Exception) -> tuple[str, str]:
    """The message and hint for an error that is not one of ours."""
    if (extra := missing_extra(error)) is not None:
        return f"this command needs the extra `{extra}`", f"pip install 'affidavit[{extra}]'"
    if isinstance(error, ModuleNotFoundError) and error.name in _POSIX:
        return "this command needs Linux or macOS", "on Windows run it in WSL 2"
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}", "check the path, who may write there, and the room on its disk"
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"an error of Affidavit's own: {said}", f"report it, with what {DEBUG}=1 prints before it"


def is_debugging() -> bool:
    from affidavit.settings import Settings

    try:
        return Settings.from_environment({DEBUG: os.environ.get(DEBUG, "")}).debug
    except InputRefused:
        # Neither yes nor no, but wanted.
        return True
