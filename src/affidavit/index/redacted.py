"""Hides secrets in an index before it leaves. Offsets and digests keep pointing at the original lines."""

import json
from collections.abc import Mapping
from typing import Any

from affidavit.evidence.citation_check import OTHER_TEXT, ByteSource, CitationCheck, check
from affidavit.evidence.finding import Evidence, excerpt_of
from affidavit.index.content_id import content_id
from affidavit.index.findings_index import FindingsIndex, index_document, index_from_json
from affidavit.redaction.answer import redact_answer
from affidavit.redaction.redact import Redactor
from affidavit.redaction.redacted_quote_check import is_redacted, stands_in

_REDACTOR = Redactor()


def redacted_index(index: FindingsIndex) -> FindingsIndex:
    """The same index where it holds no secret. Otherwise it says that it is redacted, and has an id of its own."""
    document = redacted_document(index)
    return index if document is None else index_from_json(json.dumps(document).encode())


def redacted_document(index: FindingsIndex) -> dict[str, Any] | None:
    """None when there is nothing to hide."""
    document = index_document(index)
    gaps = [_gap(gap) for gap in document.pop("gaps")]
    hidden, tally = redact_answer(document, _REDACTOR)
    if not tally.counts and gaps == list(index.gaps):
        return None
    document = {**hidden, "gaps": gaps, "redacted": True}
    return {**document, "index_id": content_id(document)}


def _gap(gap: str) -> str:
    """A file and what is wrong with it, each by itself: `passwd: refused` is no password."""
    return ": ".join(_REDACTOR.secrets(part).text for part in gap.split(": "))


def check_redacted(evidence: Evidence, source: ByteSource) -> CitationCheck:
    """As `check`. An excerpt may also be the stored line with its secrets hidden."""
    found = check(evidence, source)
    if found.problems != (OTHER_TEXT,) or evidence.byte_offset is None or not is_redacted(evidence.excerpt):
        return found
    # The bytes were read and have the right digest: only the text differs.
    stored = excerpt_of(source.read(evidence, evidence.byte_offset))
    return CitationCheck() if stands_in(evidence.excerpt, stored) else found


def derived_document(index: FindingsIndex, claimed: Mapping[str, Any]) -> dict[str, Any]:
    """An index that was derived again, in the form in which the claimed one left."""
    redacted = redacted_document(index) if claimed.get("redacted") else None
    return index_document(index) if redacted is None else redacted
