"""Finds failures that a run logged at INFO or returned as a success.

Lambda counts no error for them. They count here only where the alert agrees: it uses the same words, or it says that
something failed and the run returned a failure. What a run quotes from others, or says that it expected, is none.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from affidavit.agent.rules.alert import RaisedBy
from affidavit.agent.rules.failure_reasons import (
    SERVER_ERROR,
    UNREAD,
    Reason,
    is_telling,
    read_reason,
    said,
    without_bare_status,
)
from affidavit.workloads.runs import Run, Statement
from affidavit.workloads.runs.lines import LogLevel

_WORD = re.compile(r"[A-Za-z]{4,}|\b\d{3,}\b")
# Every failure uses these.
_COMMON = frozenset(
    {
        *("error", "errors", "exception", "failed", "failure", "unable", "could"),
        *("with", "from", "this", "that", "were", "been", "have", "when"),
    }
)
_ENOUGH = 2
_SHARE = 0.6
_LONGEST = 4000
# In the words of JSON, Python's and Node's way to print an object, and query strings.
_RETURNED = re.compile(
    r"(?i)[\"']?status_?code[\"']?\s*[:=]\s*[\"']?5\d\d\b|[\"']?\b(success|ok|succeeded)\b[\"']?\s*[:=]\s*[\"']?false\b"
    r"|[\"']?\b(status|outcome|result)[\"']?\s*[:=]\s*[\"'](error|failed|failure)[\"']"
)
_PARTIAL = re.compile(r"batch_?item_?failures[\"']?\s*[:=]\s*\[\s*\{", re.IGNORECASE)
_EXPECTED = re.compile(
    r"(?i)\b(as )?expected\b|\bmust (fail|be (denied|refused))|\bshould (fail|be (denied|refused))|\bsimulated\b"
)
_QUOTED = re.compile(r"\"[^\"\n]{20,}\"|“[^”\n]{20,}”|«[^»\n]{20,}»")
_ASKED = re.compile(
    r"(?i)\b(asks?|asked|wrote|writes|says|said|subject|body|text|prompt|question|comment|ticket|title)\b\W{0,4}$"
)


def printed_failures(run: Run, raised: RaisedBy) -> tuple[Reason, ...]:
    """Why the run failed by its own word, the newest first; empty where the alert does not agree."""
    own = [one for one in reversed(run.statements) if not one.is_noise and not is_hearsay(one)]
    agreed = [one for one in own if _agrees(one, raised)]
    if not agreed:
        return ()
    read = [_reason(one) for one in own if is_telling(one)]
    known = [one for one in read if one.kind is not None and one.family not in ("code", "general")]
    return without_bare_status(known) or tuple(one for one in read if one.kind is not None)[:1] or (_reason(agreed[0]),)


def _reason(statement: Statement) -> Reason:
    """A server error that the run itself returns is its own answer, not that of a service it called."""
    found = read_reason(statement)
    is_own = found.label in (SERVER_ERROR, "http-5xx") and _RETURNED.search(statement.text[:_LONGEST]) is not None
    return replace(found, label=UNREAD, match=None) if is_own else found


def is_hearsay(statement: Statement) -> bool:
    """Its troubling words stand in a quotation that somebody else sent, or it says that they were to be expected."""
    return _EXPECTED.search(statement.text) is not None or any(_quotations(statement.text))


def _quotations(text: str) -> Iterator[bool]:
    for found in _QUOTED.finditer(text):
        yield _ASKED.search(text[: found.start()]) is not None


def _agrees(statement: Statement, raised: RaisedBy) -> bool:
    if statement.level is LogLevel.ERROR:
        return False
    text = statement.text[:_LONGEST]
    if _PARTIAL.search(text) or _has_failed_items(statement.fields):
        return True
    return _RETURNED.search(text) is not None if raised.is_alarm else _shares_words(said(statement), raised)


def _has_failed_items(fields: Mapping[str, Any]) -> bool:
    inner = fields.get("message")
    held = cast("Mapping[str, Any]", inner) if isinstance(inner, Mapping) else fields
    return bool(held.get("batchItemFailures"))


def _shares_words(text: str, raised: RaisedBy) -> bool:
    """Most of what the alert says stands in the line: two words at least, beside those that every failure uses."""
    alert = _words(f"{raised.message}")
    shared = alert & _words(text[:_LONGEST])
    is_named = len(raised.error_type) > len("Exception") and raised.error_type in text
    return is_named or (len(shared) >= _ENOUGH and len(shared) >= _SHARE * len(alert))


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(text)) - _COMMON


def alarming_words(run: Run) -> list[Statement]:
    """Lines of a run that sound like trouble and are hearsay: what an alarm on words in the log may have counted."""
    return [one for one in run.statements if is_telling(one) and is_hearsay(one)]


def has_own_trouble(run: Run) -> bool:
    """Something it said sounds like trouble, and is its own."""
    return any(is_telling(one) and not is_hearsay(one) for one in run.statements if not one.is_noise)
