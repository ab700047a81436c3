"""`read`: whole lines of a stored file, by byte or by line number. No line is ever cut."""

from dataclasses import dataclass

from pydantic_core import to_json

from affidavit.bundle.line_index import line_start
from affidavit.errors import InputRefused
from affidavit.nodes.library.files_by_key import log_file
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.nodes.wire.read import ReadAnswer, ReadRequest
from affidavit.ports.object_store import ObjectStore, StoredObject
from affidavit.wire.records import NextCall, TruncationInfo, cut

# What an answer can carry; longer lines are offered as a link to the file.
INLINE = 8 << 20
_STEP = 64 << 10
_LINK_SECONDS = 300
# Room for everything in an answer but the lines.
_ENVELOPE = 1 << 10


@dataclass(frozen=True, kw_only=True)
class _Span:
    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """`end` is what was asked for; None: as much as fits, up to `last`."""

    start: int
    end: int | None
    last: int


def read(library: Library, request: ReadRequest) -> ReadAnswer:
    _refuse_both(request)
    text = _Text(library.objects, log_file(library, request.log_key))
    asked = _lines_asked(library, text, request) if _asks_for_lines(request) else _bytes_asked(text, request)
    # JSON doubles quotes and line ends, so the first guess may be too long for the budget.
    room = request.max_bytes - _ENVELOPE
    while True:
        answer = _answer(text, request, asked, _span(text, asked, room))
        too_long = _length(answer.content) + _ENVELOPE - request.max_bytes
        if asked.end is not None or too_long <= 0 or answer.line_count <= 1:
            return answer
        room = min(room - too_long, answer.end_byte - answer.start_byte - 1)


def _length(content: str) -> int:
    return len(to_json(content))


def _asks_for_lines(request: ReadRequest) -> bool:
    return request.start_line is not None or "line_count" in request.model_fields_set


def _refuse_both(request: ReadRequest) -> None:
    if _asks_for_lines(request) and (request.start_byte is not None or request.end_byte is not None):
        raise InputRefused(
            "lines and bytes are both given", hint="give startByte and endByte, or startLine and lineCount"
        )
    if request.end_byte is not None and request.end_byte <= (request.start_byte or 0):
        raise InputRefused("endByte is not after startByte", hint="leave endByte out to read what fits")


class _Text:
    def __init__(self, objects: ObjectStore, stored: StoredObject) -> None:
        self.objects = objects
        self.key = stored.key
        self.size = stored.size

    def bytes(self, start: int, end: int) -> bytes:
        return self.objects.read(self.key, start, min(end, self.size))

    def line_end_after(self, at: int) -> int:
        """Just behind the first line end at or after `at`, or the end of the file. Asks for more each time."""
        step = _STEP
        while at < self.size:
            piece = self.bytes(at, at + step)
            feed = piece.find(b"\n")
            if feed >= 0:
                return at + feed + 1
            at += len(piece) or self.size
            step = min(step * 2, INLINE)
        return self.size

    def line_end_before(self, start: int, end: int) -> int | None:
        """Just behind the last line end in the range."""
        at = end
        while at > start:
            begin = max(start, at - _STEP)
            feed = self.bytes(begin, at).rfind(b"\n")
            if feed >= 0:
                return begin + feed + 1
            at = begin
        return None


def _bytes_asked(text: _Text, request: ReadRequest) -> _Asked:
    asked = request.start_byte or 0
    if asked > text.size:
        raise InputRefused(
            f"startByte {asked} is behind the end of {text.key}, which has {text.size} bytes",
            hint="follow nextChunkStart; it is null at the end",
        )
    start = asked if asked == 0 else text.line_end_after(asked - 1)
    if request.end_byte is None:
        return _Asked(start=start, end=None, last=text.size)
    # Bytes inside one line: the next one begins behind them, and nothing is returned.
    limit = min(text.size, request.end_byte)
    end = start if start >= limit else _whole_lines(text, start, limit)
    return _Asked(start=start, end=end, last=end)


def _lines_asked(library: Library, text: _Text, request: ReadRequest) -> _Asked:
    """Without lineCount, as many of the default as fit; with it, all of them."""
    location = library.objects.local_copy(text.key)
    index = library.line_indexes.of(location)
    first = request.start_line or 1
    start = line_start(location, index, first)
    if start is None or (start >= text.size and first > 1):
        raise InputRefused(f"{text.key} has fewer than {first} lines", hint="read it from startByte 0")
    end = line_start(location, index, first + request.line_count)
    last = text.size if end is None else end
    return _Asked(start=start, end=last if "line_count" in request.model_fields_set else None, last=last)


def _span(text: _Text, asked: _Asked, room: int) -> _Span:
    limit = min(asked.last, asked.start + min(room if asked.end is None else INLINE, INLINE))
    if asked.start >= limit:
        return _Span(start=asked.start, end=asked.start)
    return _Span(start=asked.start, end=_whole_lines(text, asked.start, limit))


def _whole_lines(text: _Text, start: int, limit: int) -> int:
    """The end of the last line that ends by `limit`; of the first line when that is longer."""
    if limit >= text.size:
        return text.size
    end = text.line_end_before(start, limit)
    return end if end is not None else text.line_end_after(limit)


def _answer(text: _Text, request: ReadRequest, asked: _Asked, span: _Span) -> ReadAnswer:
    is_inline = span.end - span.start <= INLINE
    raw = text.bytes(span.start, span.end) if is_inline else b""
    has_more = span.end < text.size
    info = _cut(text, request, asked, span)
    return ReadAnswer(
        log_key=text.key,
        content=raw.decode("utf-8", "replace"),
        start_byte=span.start,
        end_byte=span.end,
        line_count=_count_lines(raw),
        total_size=text.size,
        total_size_human=human_size(text.size),
        has_more=has_more,
        next_chunk_start=span.end if has_more else None,
        link=None if info is None else text.objects.link(text.key, seconds=_LINK_SECONDS),
        truncated=info is not None,
        truncation_info=info,
    )


def _cut(text: _Text, request: ReadRequest, asked: _Asked, span: _Span) -> TruncationInfo | None:
    """Only of an explicit range that does not fit; reading on by nextChunkStart leaves nothing out."""
    if span.end - span.start > INLINE:
        what = f"the line from byte {span.start} to {span.end} is longer than {INLINE} bytes and cannot be inline"
        return cut(span.end - span.start, 0, f"{what}: open the link, or read on behind it", _read_on(text, span))
    if asked.end is None or span.end >= asked.end:
        return None
    returned, wanted = span.end - span.start, asked.end - asked.start
    what = f"{returned} of {wanted} bytes are here, of which an answer can hold {INLINE}"
    return cut(wanted, returned, f"{what}: read on from nextChunkStart, or open the link", _read_on(text, span, asked))


def _read_on(text: _Text, span: _Span, asked: _Asked | None = None) -> NextCall:
    rest = {"endByte": asked.end} if asked is not None else {}
    return NextCall(tool="read", arguments={"logKey": text.key, "startByte": span.end, **rest})


def _count_lines(raw: bytes) -> int:
    return raw.count(b"\n") + (bool(raw) and not raw.endswith(b"\n"))


def human_size(size: int) -> str:
    if size < 1000:
        return f"{size} B"
    value = float(size)
    for unit in ("kB", "MB", "GB", "TB"):
        value /= 1000
        if value < 999.95:
            return f"{value:.1f} {unit}"
    return f"{value:.1f} TB"
