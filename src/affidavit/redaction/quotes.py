"""A quote of a redacted text still proves something: it stands where redaction of the stored text puts it."""

from affidavit.redaction.redact import Redactor

_MARK = "[REDACTED:"


def stands_in(quote: str, text: str) -> bool:
    """Whether `text` holds `quote` as it is stored, or as it left: secrets hidden, or personal data too."""
    if quote in text:
        return True
    if _MARK not in quote:
        return False
    return any(quote in Redactor(hides_personal=personal).redact(text).text for personal in (False, True))
