"""Checks a quote of redacted text against the stored text."""

from affidavit.errors import UpstreamFailed
from affidavit.evidence.finding import EXCERPT_CHARACTERS
from affidavit.redaction.redact import Around, Redactor

_MARK = "[REDACTED:"


def is_redacted(text: str) -> bool:
    return _MARK in text


def stands_in(quote: str, text: str, left_through: Redactor | None = None) -> bool:
    """Whether `text` holds `quote` as it is stored, or as it left: secrets hidden, or personal data too."""
    if quote in text:
        return True
    if _MARK not in quote:
        return False
    redactors = (Redactor(), Redactor(hides_personal=True), left_through)
    return any(quote in _as_it_left(text, redactor) for redactor in redactors if redactor is not None)


def _as_it_left(text: str, redactor: Redactor) -> str:
    """The whole line, and its excerpt, whose end leaves in another way."""
    try:
        whole = redactor.redact(text).text
        if len(text) < EXCERPT_CHARACTERS:
            return whole
        return f"{whole}\0{redactor.redact(text[:EXCERPT_CHARACTERS], Around(is_cut=True)).text}"
    except UpstreamFailed:
        # Nobody can say how it left. The quote then proves nothing, which is what the caller is told.
        return ""
