"""Match lines with hidden text as they leave, redacted: else exact counts would tell a secret letter by letter."""

import mmap
from bisect import insort
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

from affidavit.nodes.library.redacted_spans import HiddenSpans, HiddenText
from affidavit.nodes.search.located_lines import RETURN, LineSpan
from affidavit.nodes.search.queries import Query
from affidavit.nodes.search.scanning import FileMatches, scan_files
from affidavit.progress import Waiting, who_waits

# The engine that looks for secrets works outside the interpreter's lock.
_READERS: Final = 2


def scan_redacted(query: Query, locations: Sequence[Path], most: int, hidden: HiddenText) -> list[FileMatches]:
    """Like `scan_files`, on the text as it leaves. `most` lines of each file are located."""
    looking = partial(_hidden_of, hidden, who_waits())
    with ThreadPoolExecutor(_READERS) as readers:
        spans = list(readers.map(looking, locations))
    touched = [_touched(path, each) for path, each in zip(locations, spans, strict=True)]
    # A located line may turn out to match no more, so as many more are located.
    found = scan_files(query, locations, most + max(map(len, touched), default=0))
    for path, matches, each, lines in zip(locations, found, spans, touched, strict=True):
        _judge_again(query, path, matches, each, lines)
        del matches.spans[most:]
    return found


def _hidden_of(hidden: HiddenText, waiting: Waiting, location: Path) -> HiddenSpans:
    waiting.check()
    try:
        return hidden.of(location)
    except OSError:
        return HiddenSpans(spans=())  # the scan says why it cannot be read


def _touched(location: Path, hidden: HiddenSpans) -> list[LineSpan]:
    """Every line that hidden text stands in."""
    if not hidden.spans:
        return []
    with location.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as buffer:
        return list(_lines_of(buffer, hidden))


def _lines_of(buffer: mmap.mmap, hidden: HiddenSpans) -> Iterator[LineSpan]:
    at = 0
    for span in hidden.spans:
        start = max(at, buffer.rfind(b"\n", 0, span.start) + 1)
        while start < span.end:
            feed = buffer.find(b"\n", start)
            end = len(buffer) if feed < 0 else feed
            yield start, end - (end > start and buffer[end - 1] == RETURN)
            start = at = end + 1


def _judge_again(
    query: Query, location: Path, matches: FileMatches, hidden: HiddenSpans, touched: Sequence[LineSpan]
) -> None:
    if not touched:
        return
    listed = set(matches.spans)
    waiting = who_waits()
    with location.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as buffer:
        for line in touched:
            waiting.check()
            raw = buffer[line[0] : line[1]]
            matched, matches_still = query.matches(raw), query.matches(hidden.redacted(raw, line[0]))
            matches.count += matches_still - matched
            if matches_still and line not in listed:
                insort(matches.spans, line)
            elif line in listed and not matches_still:
                matches.spans.remove(line)
    # A file that was not searched to its end has counted fewer lines than were looked at again here.
    matches.count = max(matches.count, len(matches.spans))
