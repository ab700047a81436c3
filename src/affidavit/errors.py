"""AffidavitError
├── InputRefused         the caller can fix it: no such bundle, not an archive, a rule that does not load
├── NotFound             the caller named something that is not there: an instance without a bundle, an unknown id
├── Conflict             somebody else changed it first, or it is in another state than the caller thinks
├── EvidenceUnavailable  we could not look: member missing, archive damaged, disk full
├── UpstreamFailed       AWS or the chat model failed; `is_retryable` tells whether to try again
│   └── Throttled        it asked us to slow down
└── InvariantBroken      our bug: never retried, always reported

A message says what happened and to which thing; the hint says what to do next.
"""


class AffidavitError(Exception):
    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class InputRefused(AffidavitError):
    pass


class NotFound(AffidavitError):
    pass


class Conflict(AffidavitError):
    pass


class EvidenceUnavailable(AffidavitError):
    pass


class UpstreamFailed(AffidavitError):
    def __init__(self, message: str, *, hint: str = "", is_retryable: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.is_retryable = is_retryable


class Throttled(UpstreamFailed):
    def __init__(self, message: str, *, hint: str = "wait a little, then ask again") -> None:
        super().__init__(message, hint=hint, is_retryable=True)


class InvariantBroken(AffidavitError):
    pass
