"""Tells people through one channel."""

from typing import Protocol

from affidavit.errors import Throttled
from affidavit.ports.notice_record import Notice


class AskedToWait(Throttled):
    """The channel said how long to leave it alone."""

    def __init__(self, message: str, *, seconds: float) -> None:
        super().__init__(message, hint="it is tried again after the time that it asked for")
        self.seconds = seconds


class Notifier(Protocol):
    def takes(self, notice: Notice) -> bool:
        """Whether this channel has a place for such a notice."""
        ...

    def notify(self, notice: Notice, *, earlier: str) -> str:
        """Returns the channel's name of the message, which comes back as `earlier` with the incident's next notice.

        Both are empty where messages have no name. After a crash people may be told twice with the same `notice.key`.
        Raises UpstreamFailed, or AskedToWait.
        """
        ...
