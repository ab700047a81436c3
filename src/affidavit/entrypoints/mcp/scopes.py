"""What a caller may do. A token or key carries some of these scopes; whoever started a local server has all."""

from enum import StrEnum
from typing import Final


class AccessScope(StrEnum):
    READ = "affidavit:read"
    """Ask questions. Answers are redacted."""
    COLLECT = "affidavit:collect"
    """Start and stop collections on nodes."""
    FILES = "affidavit:files"
    """Get whole files as they are stored, secrets included."""


ALL_SCOPES: Final = frozenset(AccessScope)
