"""`read`: whole lines of a stored file, by byte or by line number. Nothing is ever cut."""

from dataclasses import dataclass

from affidavit.errors import InputRefused
from affidavit.nodes.answers.read import CHUNK, ReadAnswer, ReadRequest
from affidavit.nodes.library import Library
from affidavit.nodes.log_files import stored_file
from affidavit.nodes.stored_lines import line_start
from affidavit.nodes.surroundings import AROUND
from affidavit.ports import ObjectStore, StoredObject
from affidavit.redaction.redact import Around

# What an answer can carry; longer lines are offered as a link to the file.
INLINE = 8 << 20
_STEP = 64 << 10
_LINK_SECONDS = 300


@dataclass(frozen=True, kw_only=True)
class _Span:
    start: int
    end: int


def read(library: Library, request: ReadRequest) -> ReadAnswer:
    _refuse_both(request)
    stored = stored_file(library, request.log_key)
    text = _Text(library.objects, stored)
    span = _by_line(library, text, request) if _asks_for_lines(request) else _by_byte(text, request)
    return _answer(text, span)


def _asks_for_lines(request: ReadRequest) -> bool:
    return request.start_line is not None or "line_count" in request.model_fields_set


def _refuse_both(request: ReadRequest) -> None:
    if _asks_for_lines(request) and (request.start_byte is not None or request.end_byte is not None):
        raise InputRefused(
            "lines and bytes are both given", hint="give startByte and endByte, or startLine and lineCount"
        )
    if request.end_byte is not None and request.end_byte <= (request.start_byte or 0):
        raise InputRefused("endByte is not after startByte", hint="leave endByte out to read 1 MiB")


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


def _by_byte(text: _Text, request: ReadRequest) -> _Span:
    asked = request.start_byte or 0
    if asked > text.size:
        raise InputRefused(
            f"startByte {asked} is behind the end of {text.key}, which has {text.size} bytes",
            hint="follow nextChunkStart; it is null at the end",
        )
    start = asked if asked == 0 else text.line_end_after(asked - 1)
    limit = min(text.size, request.end_byte if request.end_byte is not None else start + CHUNK)
    if start >= limit:
        return _Span(start=start, end=start)  # the asked bytes lie inside one line; the next one begins behind them
    return _Span(start=start, end=_whole_lines(text, start, limit))


def _whole_lines(text: _Text, start: int, limit: int) -> int:
    """The end of the last line that ends by `limit`; of the first line when that is longer."""
    limit = min(limit, start + INLINE)
    if limit >= text.size:
        return text.size
    end = text.line_end_before(start, limit)
    return end if end is not None else text.line_end_after(limit)


def _by_line(library: Library, text: _Text, request: ReadRequest) -> _Span:
    location = library.objects.local_copy(text.key)
    index = library.line_indexes.of(location)
    first = request.start_line or 1
    start = line_start(location, index, first)
    if start is None or (start >= text.size and first > 1):
        raise InputRefused(f"{text.key} has fewer than {first} lines", hint="read it from startByte 0")
    end = line_start(location, index, first + request.line_count)
    return _Span(start=start, end=_whole_lines(text, start, text.size if end is None else end))


def _answer(text: _Text, span: _Span) -> ReadAnswer:
    is_inline = span.end - span.start <= INLINE
    before, raw, after = _surrounded(text, span) if is_inline else ("", b"", "")
    has_more = span.end < text.size
    content = raw.decode("utf-8", "replace")
    answer = ReadAnswer(
        log_key=text.key,
        content=content,
        start_byte=span.start,
        end_byte=span.end,
        line_count=_count_lines(raw),
        total_size=text.size,
        total_size_human=human_size(text.size),
        has_more=has_more,
        next_chunk_start=span.end if has_more else None,
        link=None if is_inline else text.objects.link(text.key, seconds=_LINK_SECONDS),
    )
    return answer.standing_in({content: Around(before=before, after=after)})


def _surrounded(text: _Text, span: _Span) -> tuple[str, bytes, str]:
    """The lines, and what stands around them: a private key may begin before the first of them."""
    first = max(0, span.start - AROUND)
    raw = text.bytes(first, span.end + AROUND)
    start, end = span.start - first, span.end - first
    return raw[:start].decode("utf-8", "replace"), raw[start:end], raw[end:].decode("utf-8", "replace")


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
