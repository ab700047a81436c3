"""Names that AWS's runtimes put into their error messages, in the wordings they use. All else on a line is hearsay."""

import re

_NAME = r"[A-Za-z_][A-Za-z0-9_]{0,60}"
_WORDINGS = (
    re.compile(rf"No module named '({_NAME}(?:\.{_NAME})*)'"),
    re.compile(rf"cannot import name '({_NAME})' from '({_NAME})'"),
    re.compile(rf"[Mm]odule '({_NAME})'"),
    re.compile(rf"Handler '({_NAME})'"),
    re.compile(rf"KeyError: '({_NAME})'"),
    re.compile(rf"\(reading '({_NAME})'\)"),
    re.compile(rf"(?i)environment variable:? ['\"]?({_NAME})"),
    re.compile(r"\b((?:Runtime\.|java\.lang\.)?[A-Z][A-Za-z]{1,60}(?:Error|Exception|NotFound))\b"),
)


def names_in(message: str) -> list[str]:
    """Each once, in the order of the wordings."""
    return list(
        dict.fromkeys(name for wording in _WORDINGS for found in wording.finditer(message) for name in found.groups())
    )
