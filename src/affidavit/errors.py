"""AffidavitError
├── InputRefused         the caller can fix it: no such bundle, not an archive, a rule that does not load
├── EvidenceUnavailable  we could not look: member missing, archive damaged, disk full
└── InvariantBroken      our bug: never retried, always reported

A message says what happened and to which thing; the hint says what to do next.
"""


class AffidavitError(Exception):
    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class InputRefused(AffidavitError):
    pass


class EvidenceUnavailable(AffidavitError):
    pass


class InvariantBroken(AffidavitError):
    pass
