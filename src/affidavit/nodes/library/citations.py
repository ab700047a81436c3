"""From the ids a caller cites to findings, and from findings to bytes that were just re-read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from affidavit.errors import InputRefused, NotFound
from affidavit.evidence.citation_check import CitationCheck, check
from affidavit.evidence.coverage import Coverage, SkippedFile, SkipReason, cover
from affidavit.evidence.finding import Evidence, Finding
from affidavit.nodes.library.indexed_bundles import Library, Shelf
from affidavit.nodes.search.past_searches import KeptSearch, find_search

_LISTED = 20


@dataclass(frozen=True, kw_only=True)
class Citable:
    """Every finding a caller may cite: those of an index, and those of one search."""

    shelf: Shelf
    search: KeptSearch | None
    findings: dict[str, Finding]

    @property
    def known(self) -> str:
        """What there is, in short."""
        ids = sorted(self.findings)
        more = f" and {len(ids) - _LISTED} more" if len(ids) > _LISTED else ""
        return (", ".join(ids[:_LISTED]) + more) or "none"

    def lines_of(self, finding_id: str) -> list[Evidence]:
        """Lines that a quote may be taken from and that carry a digest of their own."""
        if self.search is not None and finding_id.startswith("S-"):
            return self.search.lines_of(finding_id)
        return [self.findings[finding_id].evidence]


def citable(
    library: Library, instance_id: str, ids: Iterable[str], *, index_id: str | None, search_id: str | None
) -> Citable:
    """A search knows the index it was made on; that one is meant unless another is pinned."""
    search = _search(library, instance_id, ids, search_id)
    if search is not None and index_id is not None and search.index_id != index_id:
        raise InputRefused(
            f"search {search.search_id} was made on index {search.index_id}, not on {index_id}",
            hint="give the index_id of the answer that the S- ids came from, or search again",
        )
    shelf = library.open(instance_id, index_id or (search.index_id if search is not None else None))
    found = {**shelf.findings, **(search.findings() if search is not None else {})}
    return Citable(shelf=shelf, search=search, findings=found)


def _search(library: Library, instance_id: str, ids: Iterable[str], search_id: str | None) -> KeptSearch | None:
    cited = [each for each in ids if each.startswith("S-")]
    if not cited and search_id is None:
        return None
    try:
        return find_search(library, instance_id, search_id)
    except NotFound:
        if search_id is not None:
            raise
        return None  # the S- ids are then unknown, and named so


def recheck(evidence: Evidence, shelf: Shelf) -> CitationCheck:
    return check(evidence, shelf.lines)


def coverage_of(evidence: Sequence[Evidence], failed: Sequence[Evidence] = ()) -> Coverage:
    """Of re-reading: the files that were cited, and the bytes of the cited lines."""
    lost = {each.source_file for each in failed}
    sizes: dict[str, int] = {}
    for each in evidence:
        if each.source_file not in lost:
            span = each.byte_offset
            sizes[each.source_file] = sizes.get(each.source_file, 0) + (span.end - span.start if span else 0)
    skipped = [SkippedFile(file=file, reason=SkipReason.UNREADABLE, size_bytes=0) for file in sorted(lost)]
    return cover(scanned_sizes=sizes.values(), skipped=skipped)
