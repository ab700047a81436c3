"""Runs checks over the files of a bundle. Returns lines to cite with the measured facts, and gaps."""

import logging
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from affidavit.checks.check import Check
from affidavit.checks.computation_results import Found, NotComputable, Shown
from affidavit.checks.numbered_lines import Document, read_document
from affidavit.checks.pack import load_checks, version_of
from affidavit.checks.run_named_computation import apply_check
from affidavit.evidence.finding import LISTED

__all__ = ["CheckEvidence", "ChecksResult", "Hit", "load_checks", "run_checks", "version_of"]

# Limits for the documents of one check, and for those kept for the next one.
_MOST_BYTES = 64 * 1024 * 1024
_MOST_FILES = 512

_LOG = logging.getLogger(__name__)
_MOST_DETAILS = 10_000


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A line (1-based), its bytes (`end` exclusive, without the line end) and the measured fact."""

    line: int
    start: int
    end: int
    detail: str


@dataclass(frozen=True, kw_only=True)
class CheckEvidence:
    """The lines of one file that a check shows, in order. All are counted; only as many as a finding lists are kept."""

    check: Check
    path: str
    hits: tuple[Hit, ...]
    count: int


@dataclass(frozen=True, kw_only=True)
class ChecksResult:
    """Ordered by check and path; `gaps` say what could not be measured, once each."""

    shown: tuple[CheckEvidence, ...]
    gaps: tuple[str, ...]


def run_checks(checks: Iterable[Check], files: Mapping[str, Path]) -> ChecksResult:
    """`files` maps paths in the bundle to where they lie: command output, logs and copies of configuration."""
    shelf = _Shelf(files)
    shown: list[CheckEvidence] = []
    gaps: dict[str, None] = {}
    for check in sorted(checks, key=lambda check: check.id):
        for documents in _together(check, shelf, gaps):
            shown.extend(_shown(check, documents, gaps))
    return ChecksResult(shown=tuple(sorted(shown, key=lambda each: (each.check.id, each.path))), gaps=tuple(gaps))


def _shown(check: Check, documents: list[Document], gaps: dict[str, None]) -> list[CheckEvidence]:
    tallies: dict[str, _Tally] = {}
    for found in _computed(check, documents):
        if isinstance(found, Shown):
            tallies.setdefault(found.path, _Tally()).add(found)
        else:
            _note(gaps, found)
    return [_cited(check, document, tallies[document.path]) for document in documents if document.path in tallies]


def _computed(check: Check, documents: list[Document]) -> Iterator[Found]:
    """Runs one computation. A bug in it becomes a gap and never stops the analysis."""
    try:
        yield from apply_check(check, documents)
    except Exception as error:  # noqa: BLE001 - text of a node's choosing; whatever it breaks, the other checks go on
        _LOG.exception("check %s failed", check.id)
        reason = f"{check.id} could not be computed ({type(error).__name__}), so whether it holds is unknown"
        yield NotComputable(documents[0].path, reason)


def _cited(check: Check, document: Document, tally: "_Tally") -> CheckEvidence:
    details = tally.first(LISTED + 1)
    spans = document.spans(details.keys())
    hits = (Hit(line=line, start=start, end=end, detail=details[line]) for line, (start, end) in spans.items())
    return CheckEvidence(check=check, path=document.path, hits=tuple(hits), count=len(tally.lines))


class _Tally:
    """Collects the lines of one file that a check shows, in any order. Details are kept for the first lines only."""

    def __init__(self) -> None:
        self.lines: set[int] = set()
        self._details: dict[int, str] = {}

    def add(self, found: Shown) -> None:
        if found.line in self.lines:
            return
        self.lines.add(found.line)
        self._details[found.line] = found.detail
        if len(self._details) > _MOST_DETAILS:
            self._details = self.first(LISTED + 1)

    def first(self, most: int) -> dict[int, str]:
        return dict(sorted(self._details.items())[:most])


def _together(check: Check, shelf: "_Shelf", gaps: dict[str, None]) -> list[list[Document]]:
    """The documents of the check, grouped by root."""
    groups: dict[str, list[Document]] = {}
    room = _MOST_BYTES
    for number, (path, root) in enumerate(_read_by(check, shelf.files)):
        if number >= _MOST_FILES or room <= 0:
            _note(gaps, NotComputable(path, f"is one of too many files for {check.id}, which left it out"))
            break
        document = shelf.document(path, check.only_first)
        if isinstance(document, NotComputable):
            _note(gaps, document)
        else:
            room -= len(document.data)
            groups.setdefault(root, []).append(document)
    return list(groups.values())


def _read_by(check: Check, files: Mapping[str, Path]) -> list[tuple[str, str]]:
    roots = ((path, check.root_of(path)) for path in sorted(files))
    return [(path, root) for path, root in roots if root is not None]


def _note(gaps: dict[str, None], problem: NotComputable) -> None:
    gaps.setdefault(f"{problem.path}: {problem.reason}")


@dataclass
class _Shelf:
    """Caches documents, because many checks read the same few files."""

    files: Mapping[str, Path]
    kept: OrderedDict[tuple[str, int | None], Document | NotComputable] = field(default_factory=lambda: OrderedDict())

    def document(self, path: str, only_first: int | None) -> Document | NotComputable:
        key = (path, only_first)
        if key not in self.kept:
            self.kept[key] = read_document(path, self.files[path], only_first=only_first)
            self._make_room()
        self.kept.move_to_end(key)
        return self.kept[key]

    def _make_room(self) -> None:
        while len(self.kept) > 1 and sum(map(_size, self.kept.values())) > _MOST_BYTES:
            self.kept.popitem(last=False)


def _size(document: Document | NotComputable) -> int:
    return len(document.data) if isinstance(document, Document) else 0
