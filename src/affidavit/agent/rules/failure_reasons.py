"""Why a run failed: what its last error says, or what Lambda says about it.

The error that ended the run decides. What a run said before that counts only where the last error says nothing that
anybody knows: a warning before a retry that worked is no reason.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from affidavit.workloads.failures import FailureKind, Match, matches
from affidavit.workloads.runs import Ending, Run, Statement
from affidavit.workloads.runs.error_type_and_message import ErrorText, without_frames, words_of
from affidavit.workloads.runs.lines import Line, LineKind, LogLevel

LONGEST_QUOTE = 420
TIMED_OUT, INIT_TIMED_OUT, EXITED, KILLED, UNREAD = "timed-out", "init-timed-out", "exited", "killed", "unread"
NEARLY_FULL = 0.95
# What the program's own code or the bare name of an error says; anything else says more.
_VAGUE = ("code", "general")
_TROUBLE = re.compile(r"\b(fatal|error|fail(ed|ure|s)?|cannot|could not|unable to|abort(ed)?|panic)\b", re.IGNORECASE)
SERVER_ERROR = "server-error-bare"
BARE_STATUS = ("http-4xx", SERVER_ERROR)
_SPARED = re.compile(r"fall(ing|s)? ?back|default|continu(e|ing)|ignor(ed|ing)|skipp(ed|ing)|optional", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Reason:
    """`label` is the catalog's id, or one of Lambda's endings; `event` and `quote` are where it stands."""

    label: str
    event: int
    quote: str
    text: str
    """All that was said with it, without stack frames."""
    raw: str
    match: Match | None = None
    error: ErrorText | None = None

    @property
    def kind(self) -> FailureKind | None:
        return self.match.kind if self.match else None

    @property
    def family(self) -> str:
        return self.match.kind.family if self.match else self.label


def reasons_of(run: Run) -> tuple[Reason, ...]:
    """Why a run that failed did so, the likeliest first; denials on its way follow. Empty if it did not fail."""
    if not run.has_failed:
        return ()
    told = [one for one in reversed(run.last_words) if one.is_complaint or is_telling(one)]
    thrown, others = [[read_reason(one) for one in told if one.is_unhandled is is_last] for is_last in (True, False)]
    if run.ending is Ending.KILLED and (killed := _of_memory(run)) is not None:
        return (killed,)
    if run.ending is Ending.TIMED_OUT:
        return (_of_timeout(run, [*thrown, *others]),)
    found = _likeliest(thrown, others, _of_platform_lines(run)) or (_of_report(run),)
    return (*found, *(one for one in _denied(run, others) if one not in found))


def is_telling(statement: Statement) -> bool:
    """Words without a level that name an error, sound like one, or are known to the catalog."""
    text = said(statement)
    return statement.error is not None or bool(_TROUBLE.search(text)) or next(matches(text), None) is not None


def _likeliest(thrown: Sequence[Reason], others: Sequence[Reason], platform: Sequence[Reason]) -> tuple[Reason, ...]:
    """What ended the run, if that says something known; else what the run complained about, or Lambda did."""
    crashed = [one for one in platform if one.label != EXITED]
    for group in ([one for one in (*thrown, *crashed) if _is_specific(one, is_sure=True)], ()):
        if group:
            return tuple(group)
    if sure := [one for one in others if _is_specific(one, is_sure=True)]:
        return tuple(sure)
    if known := [one for one in (*thrown, *others) if _is_specific(one, is_sure=False)]:
        return without_bare_status(known)
    # An error that the program names says more than Lambda's general word for a failed start.
    coded = _first_told(thrown) or _first_told(others)
    guessed = [one for one in crashed if _is_specific(one, is_sure=False)]
    return coded or tuple(guessed) or tuple(thrown) or tuple(others) or tuple(platform)


def _first_told(told: Sequence[Reason]) -> tuple[Reason, ...]:
    """What is known of the last error, and whatever tells the same: by its name alone an error adds no second fault."""
    known = [one for one in told if one.kind is not None]
    return tuple(one for one in known if one.kind and known[0].kind and one.kind.fault is known[0].kind.fault)


def _is_specific(reason: Reason, *, is_sure: bool) -> bool:
    """It tells a cause beyond the program's own code, and says no more than the runtime's `BadFunctionCode` does."""
    kind = reason.kind
    return kind is not None and kind.family not in _VAGUE and (kind.is_sure or not is_sure)


def complaints_of(run: Run, *, with_warnings: bool) -> tuple[Reason, ...]:
    """What a run complained about that nobody says failed: caught, printed, or partly done."""
    levels = (LogLevel.ERROR, LogLevel.WARNING) if with_warnings else (LogLevel.ERROR,)
    told = [one for one in reversed(run.statements) if not one.is_noise and one.level in levels]
    read = [read_reason(one) for one in told]
    known = [one for one in read if one.match and one.family not in _VAGUE]
    errors = [reason for reason, one in zip(read, told, strict=True) if one.level is LogLevel.ERROR]
    found = without_bare_status(known) or _first_told(errors) or errors
    return (*found, *(one for one in _denied(run, errors) if one not in found))


def without_bare_status(known: Sequence[Reason]) -> tuple[Reason, ...]:
    """A client's line with no more than the status says nothing beside one that says why."""
    telling = tuple(one for one in known if one.label not in BARE_STATUS)
    return telling or tuple(known)


def _denied(run: Run, others: Sequence[Reason]) -> list[Reason]:
    """Every denial of a failing run counts: each names another action. One that the program can do without does not."""
    warned = [
        read_reason(one)
        for one in reversed(run.statements)
        if one.level is LogLevel.WARNING and not one.is_noise and not _SPARED.search(one.text)
    ]
    return [one for one in (*others, *warned) if one.family == "denied"]


def read_reason(statement: Statement) -> Reason:
    text = said(statement)
    match = next(matches(text), None)
    return Reason(
        label=match.kind.id if match else UNREAD,
        event=_line_of(statement).place,
        quote=excerpt(_line_of(statement), statement.error),
        text=text,
        raw="\n".join(line.message for line in statement.lines),
        match=match,
        error=statement.error,
    )


def said(statement: Statement) -> str:
    """What a statement says: the error first, then its other words, without stack frames."""
    words = words_of(statement.fields) if statement.fields else without_frames(statement.text)
    error = statement.error
    head = f"{error.type or ''}: {error.message}".strip(": ") if error else ""
    return f"{head}\n{words}" if head else words


# A line that names the thing says more than a report that names the kind of failure.
_TELLING = (LineKind.CRASH, LineKind.EXTENSION, LineKind.OTHER, LineKind.INIT_REPORT, LineKind.REPORT)


def _of_platform_lines(run: Run) -> list[Reason]:
    """What Lambda says about the runtime's end, about an extension or an image, the most telling first."""
    lines = sorted(run.platform, key=lambda line: _TELLING.index(line.kind) if line.kind in _TELLING else len(_TELLING))
    return [reason for line in lines if (reason := _of_platform(line)) is not None]


def _of_platform(line: Line) -> Reason | None:
    if line.kind is LineKind.CRASH:
        text = line.text.partition(" Error: ")[2] or line.text
        match = next(matches(text), None)
        return _platform_reason(line, match.kind.id if match else EXITED, text, match)
    if line.kind in _TELLING:
        match = next((one for one in matches(line.text) if one.kind.family in ("startup", "memory")), None)
        return _platform_reason(line, match.kind.id, line.text, match) if match else None
    return None


def _platform_reason(line: Line, label: str, text: str, match: Match | None) -> Reason:
    message = " ".join(text.split("\n")[0].split())
    return Reason(
        label=label,
        event=line.place,
        quote=excerpt(line, None),
        text=text,
        raw=line.message,
        match=match,
        error=ErrorText(
            type=line.error_type or (text.split("\n")[1].strip() if "\n" in text else None), message=message
        ),
    )


def _of_memory(run: Run) -> Reason | None:
    is_full = run.memory is None or run.memory[1] >= NEARLY_FULL * run.memory[0]
    is_named = run.error_type == "Runtime.OutOfMemory"
    if not is_full and not is_named:
        return None
    line = next((one for one in run.platform if one.kind is LineKind.CRASH), None)
    line = line or next(one for one in reversed(run.platform))
    return Reason(label=KILLED, event=line.place, quote=excerpt(line, None), text=line.text, raw=line.message)


def _of_timeout(run: Run, told: Sequence[Reason]) -> Reason:
    """What the run waited for, where it said so before the time was up; else that the time was up."""
    waits = [one for one in (*told, *map(read_reason, reversed(run.statements))) if _is_wait(one)]
    warned = {id(one) for one in waits}
    if run.has_failed_init:
        line = next(one for one in run.platform if one.kind is LineKind.INIT_REPORT)
        return Reason(
            label=INIT_TIMED_OUT, event=line.place, quote=excerpt(line, None), text=line.text, raw=line.message
        )
    if warned:
        return waits[0]
    line = next((one for one in run.platform if one.kind is LineKind.TIMEOUT), None)
    line = line or next(one for one in reversed(run.platform) if one.status == "timeout")
    return Reason(label=TIMED_OUT, event=line.place, quote=excerpt(line, None), text=line.text, raw=line.message)


def _is_wait(reason: Reason) -> bool:
    return reason.family in ("dependency", "network", "throttled") and reason.label not in BARE_STATUS


def _of_report(run: Run) -> Reason:
    line = next((one for one in reversed(run.platform) if one.kind is LineKind.REPORT), None)
    line = line or (run.platform[-1] if run.platform else run.statements[-1].lines[0])
    return Reason(
        label=UNREAD,
        event=line.place,
        quote=excerpt(line, None),
        text=line.text,
        raw=line.message,
        error=ErrorText(type=run.error_type, message=""),
    )


def _line_of(statement: Statement) -> Line:
    """The line that holds the error's own words."""
    error = statement.error
    marks = [mark for mark in ((error.message[:30], error.type or "") if error else ()) if mark]
    for mark in marks:
        for line in statement.lines:
            if mark in line.message:
                return line
    return statement.lines[0]


def excerpt(line: Line, error: ErrorText | None) -> str:
    """The part of the line that a reader needs, letter for letter."""
    message = line.message
    marks = [mark for mark in ((error.message[:30], error.type or "") if error else ()) if mark]
    place = next((message.find(mark) for mark in marks if mark in message), 0)
    start = message.rfind("\n", 0, place) + 1
    if place - start > 120:
        start = max(start, place - 60)
    end = message.find("\n", place)
    piece = message[start : end if end >= 0 else len(message)]
    if len(piece) > LONGEST_QUOTE:
        piece = piece[:LONGEST_QUOTE]
    piece = max(piece.split("\ufffd"), key=len).strip()
    return piece if len(piece) >= 8 else max(message[:LONGEST_QUOTE].split("\ufffd"), key=len).strip()
