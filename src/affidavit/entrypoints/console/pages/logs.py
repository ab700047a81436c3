"""`/logs/{key}`: a stored log in windows of lines, however large; findings lit, find in file, raw for operators."""

import mmap
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode

from starlette.responses import RedirectResponse, Response

from affidavit.entrypoints.console.access.person import PersonRole
from affidavit.entrypoints.console.guarded_page_requests import Section, Visit
from affidavit.entrypoints.console.highlighting.log_window import LogFile, log_window, open_log
from affidavit.errors import InputRefused
from affidavit.evidence.finding import ByteRange, Finding
from affidavit.nodes.library.object_keys import bundle_key

_LEAD: Final = 20
_LONGEST_NEEDLE: Final = 200
# About a second of reading; the page says where it stopped, and a link goes on from there.
_SEARCHED: Final = 256 << 20


@dataclass(frozen=True, kw_only=True)
class LitFinding:
    finding: Finding
    line: int


@dataclass(frozen=True, kw_only=True)
class FoundIn:
    """`line` is None when the words do not stand in what was looked at; `stopped_at` when that was not all."""

    line: int | None
    stopped_at: int | None


def show_log(visit: Visit) -> Response:
    log = open_log(visit.desk.library, visit.named("key"))
    first, is_raw = _line(visit.asked("from")), visit.asked("raw") == "1"
    if words := visit.asked("find")[:_LONGEST_NEEDLE]:
        return _found(visit, log, words, first)
    if is_raw:
        _refuse_raw(visit, log)
    findings = _findings(visit, log)
    window = log_window(
        log, first, cited=[one.finding.evidence.byte_offset or _NOWHERE for one in findings], is_raw=is_raw
    )
    numbers = [one.line for one in findings]
    last = window.lines[-1].number if window.lines else first
    return visit.page(
        "log.html",
        title=log.key,
        section=Section.NODES,
        window=window,
        here={one.line: one.finding for one in findings if first <= one.line <= last},
        findings=len(findings),
        earlier=findings[at - 1] if (at := bisect_left(numbers, first)) else None,
        later=findings[at] if (at := bisect_right(numbers, last)) < len(findings) else None,
        instance=bundle_key(log.key).instance_id,
        is_raw=is_raw,
        missed=visit.asked("missed"),
        lead=_LEAD,
        hit=_line(visit.asked("hit")) if visit.asked("hit") else 0,
    )


_NOWHERE: Final = ByteRange(start=0, end=0)


def _refuse_raw(visit: Visit, log: LogFile) -> None:
    if not visit.person.may(PersonRole.OPERATOR):
        raise InputRefused(
            "raw lines need the role operator", hint="leave raw out of the address: secrets are hidden then"
        )
    visit.note("looked at raw lines", log.key)


def _findings(visit: Visit, log: LogFile) -> list[LitFinding]:
    """Findings of the node's current index that cite this file, in its order."""
    shelf = visit.desk.library.newest(bundle_key(log.key).instance_id)
    cited = [] if shelf is None else [one for one in shelf.index.findings if one.evidence.full_key == log.key]
    lit = [LitFinding(finding=one, line=one.evidence.line_range.start) for one in cited if one.evidence.line_range]
    return sorted(lit, key=lambda one: one.line)


def _found(visit: Visit, log: LogFile, words: str, first: int) -> Response:
    found = _search(log, words.encode(), log.start_of(first))
    if found.line is not None:
        where = {"from": max(1, found.line - _LEAD), "q": words, "hit": found.line}
    else:
        stopped = log.line_of(found.stopped_at) if found.stopped_at is not None else 0
        where = {"from": stopped or first, "q": words, "missed": "later" if stopped else "1"}
    fragment = f"#L{found.line}" if found.line is not None else ""
    return RedirectResponse(f"/logs/{quote(log.key)}?{urlencode(where)}{fragment}", 303)


def _search(log: LogFile, words: bytes, start: int) -> FoundIn:
    """Looks in what readers are shown: text that is hidden is not found, or a search would tell secrets."""
    if not log.size:
        return FoundIn(line=None, stopped_at=None)
    end = min(log.size, start + _SEARCHED)
    with log.location.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        at = content.find(words, start, end)
        while at >= 0:
            hidden = log.library.hidden.near(log.location, at, at + len(words)).within(at, at + len(words))
            if not hidden:
                return FoundIn(line=log.line_of(at), stopped_at=None)
            at = content.find(words, at + 1, end)
    return FoundIn(line=None, stopped_at=end if end < log.size else None)


def _line(text: str) -> int:
    return max(1, int(text)) if text.isdigit() and len(text) < 13 else 1
