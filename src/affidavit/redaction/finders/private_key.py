"""Finds private keys in PEM, whatever stands around each of their lines: syslog, CRI, klog, JSON, indentation.

Between BEGIN and END, base64 is the key. Outside, a line that ends in base64 as long as PEM writes its lines is taken
for the middle of a key whose head is not in the text; between the marks of a certificate or a public key it is not.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import re2

from affidavit.redaction.encoded_text import encodes_text

# Several times the longest key that OpenSSL or OpenSSH writes, with a long prefix on every line.
FARTHEST: Final = 64 << 10
_MARK: Final = re.compile(rb"-----(BEGIN|END) ([A-Z0-9 ]{0,40}?)-----")
_RUN: Final = re.compile(rb"[A-Za-z0-9+/]{16,}={0,2}|[A-Za-z0-9+/]{2,}={1,2}")
# A word at the end of a line; JSON may follow it.
_LAST: Final = re.compile(
    rb"""(?m)(?:^|[\s"'>|:])([A-Za-z0-9+/]{1,76}={0,2})(?=(?:\\{1,12}[nr])+|\\{0,12}["'],|[ \t]*\r?$)"""
)
_BEFORE: Final = frozenset(b" \t\n\"'>|:")
_BEHIND: Final = re.compile(rb"""\\{1,12}[nr"']|["']|[ \t]*\r?(?:\n|\Z)""")
# As long as OpenSSL, OpenSSH and GnuPG write their lines.
_LINE_LENGTHS: Final = frozenset({64, 70, 76})
# Digests and ids have no capitals. RE2, since every line is looked at.
_RUN_OF_BASE64: Final = re2.compile(rb"[A-Z][A-Za-z0-9+/]{39,}")
_IN_RUN: Final = re.compile(rb"[A-Za-z0-9+/]+")
_SHORTEST_LINE: Final = min(_LINE_LENGTHS)
_LONGEST_LINE: Final = max(_LINE_LENGTHS)
_RUN_AT_END: Final = re.compile(rb"[A-Za-z0-9+/]{0,40}\Z")
# So many lines of another program may stand between those of a key.
_INTERLEAVED: Final = 3
_SHORTEST_RUN: Final = 16
_MIXED: Final = (re.compile(rb"[A-Z]"), re.compile(rb"[a-z]"), re.compile(rb"[0-9+]"))


@dataclass(frozen=True, slots=True)
class _Block:
    """What stands between two marks; `begin` or `end` is None where a mark is missing."""

    start: int
    stop: int
    is_private: bool
    begin: re.Match[bytes] | None = None
    end: re.Match[bytes] | None = None


def key_material(text: bytes, ends: Sequence[int] = ()) -> Iterator[tuple[int, int]]:
    """`ends` are where marks and long runs of base64 end; none stands for anywhere."""
    blocks = list(_blocks(text))
    for block in blocks:
        if block.is_private:
            yield from _inside(text, block)
    yield from _alone(blocks, text, ends)


def _blocks(text: bytes) -> Iterator[_Block]:
    marks = list(_MARK.finditer(text)) if b"-BEGIN " in text or b"-END " in text else []
    begin = None
    previous = 0
    for mark in marks:
        if begin is not None:
            end = mark if mark[1] == b"END" else None
            yield _Block(begin.end(), mark.start(), _names_private(begin), begin, end)
        elif mark[1] == b"END":
            yield _Block(previous, mark.start(), _names_private(mark), None, mark)
        begin = mark if mark[1] == b"BEGIN" else None
        previous = mark.end()
    if begin is not None:
        yield _Block(begin.end(), len(text), _names_private(begin), begin)


def _names_private(mark: re.Match[bytes]) -> bool:
    return b"PRIVATE KEY" in mark[2]


def _inside(text: bytes, block: _Block) -> Iterator[tuple[int, int]]:
    yield from (mark.span() for mark in (block.begin, block.end) if mark is not None)
    if block.begin is not None and block.end is not None and block.stop - block.start <= FARTHEST:
        yield from (run.span() for run in _RUN.finditer(text, block.start, block.stop))
        yield from _last_word(text, block.start, block.stop)
    elif block.begin is not None:
        yield from _while_it_lasts(text, _lines(text, block.start, block.stop))
    else:
        yield from _last_word(text, block.start, block.stop)
        yield from _while_it_lasts(
            text, reversed(list(_lines(text, max(block.start, block.stop - FARTHEST), block.stop)))
        )


def _last_word(text: bytes, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """The last line of a key may be as short as a word."""
    words = [word.span(1) for word in _LAST.finditer(text, max(start, stop - 600), stop)]
    yield from words[-1:]


def _lines(text: bytes, start: int, stop: int) -> Iterator[tuple[int, int]]:
    stop = min(stop, start + FARTHEST)
    while start < stop:
        end = text.find(b"\n", start, stop)
        end = stop if end < 0 else end
        yield start, end
        start = end + 1


def _while_it_lasts(text: bytes, lines: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """A mark is missing, so the key ends where lines without key material follow one another."""
    misses = 0
    for start, end in lines:
        found = [run.span() for run in _RUN.finditer(text, start, end) if len(run[0]) >= _SHORTEST_RUN]
        # The end of the text may cut a line off anywhere.
        found += _last_word(text, start, end) if end == len(text) and not misses else ()
        yield from found
        misses = 0 if found else misses + 1
        if misses > _INTERLEAVED:
            return


def _alone(blocks: list[_Block], text: bytes, ends: Sequence[int]) -> Iterator[tuple[int, int]]:
    public = iter([block for block in blocks if not block.is_private])
    block = next(public, None)
    for start, end in _lines_of_base64(text, ends):
        while block is not None and block.stop < start:
            block = next(public, None)
        is_public = block is not None and block.start <= start
        if not is_public and _looks_random(text[start:end]):
            yield start, end
            yield from _last_of_all(text, end)


def _lines_of_base64(text: bytes, ends: Sequence[int]) -> Iterator[tuple[int, int]]:
    for start, end in _runs_near(text, ends) if ends else _runs(text):
        # Of `\nMIIE…` in JSON, the n belongs to the line end.
        start += end - start - 1 in _LINE_LENGTHS and text[start - 1 : start + 1] == b"\\n"
        is_begun = start == 0 or text[start - 1] in _BEFORE or text[start - 2 : start] == b"\\n"
        if end - start in _LINE_LENGTHS and is_begun and _BEHIND.match(text, end):
            yield start, end


def _runs(text: bytes) -> Iterator[tuple[int, int]]:
    for found in _RUN_OF_BASE64.finditer(text):
        # What stands before its first capital is part of the line, too.
        before = _RUN_AT_END.search(text[max(0, found.start() - 40) : found.start()])
        yield found.start() - (len(before[0]) if before is not None else 0), found.end()


def _runs_near(text: bytes, ends: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Runs that end there, or one character before. Ids and digests in hexadecimal have no capitals."""
    for end in (min(end, len(text)) for end in ends):
        near = text[max(0, end - _LONGEST_LINE - 2) : end]
        if near[-_SHORTEST_LINE:].islower():
            continue
        backwards = near[::-1]
        behind = 0 if _IN_RUN.match(backwards, 0, 1) else 1
        run = _IN_RUN.match(backwards, behind)
        if run is not None:
            yield end - run.end(), end - behind


def _last_of_all(text: bytes, end: int) -> Iterator[tuple[int, int]]:
    """The line behind, when it is the shorter last one: padded, or in front of END."""
    line_end = text.find(b"\n", end)
    if line_end < 0:
        return
    last = _LAST.search(text, line_end, line_end + 600)
    if last is None or b"\n" in text[line_end + 1 : last.start(1)]:
        return
    mark = _MARK.search(text, last.end(), last.end() + 400)
    is_before_end = mark is not None and text.count(b"\n", last.end(), mark.start()) == 1
    if last[1].endswith(b"=") or is_before_end:
        yield last.span(1)


def _looks_random(run: bytes) -> bool:
    """A path, a digest in hexadecimal and encoded text are no key."""
    is_mixed = run.count(b"/") <= len(run) // 10 and all(each.search(run) for each in _MIXED)
    return is_mixed and not encodes_text(run)
