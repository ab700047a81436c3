"""Builds an answer part by part: a part that fails is listed as not read, the rest is still returned."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from affidavit.errors import AffidavitError, NotFound
from affidavit.workloads.wire import NotRead

Part = TypeVar("Part")


@dataclass(kw_only=True)
class Parts:
    not_read: list[NotRead] = field(default_factory=list[NotRead])

    def read(self, what: str, reader: Callable[[], Part]) -> Part | None:
        """None, and an entry in `not_read`, when the part could not be read or is not there."""
        try:
            return reader()
        except AffidavitError as error:
            self.missing(what, str(error))
            return None

    def read_if_there(self, what: str, reader: Callable[[], Part]) -> Part | None:
        """Like `read`, for a part whose absence is itself an answer and no gap."""
        try:
            return self.read_or_raise(what, reader)
        except NotFound:
            return None

    def read_or_raise(self, what: str, reader: Callable[[], Part]) -> Part | None:
        """Like `read`, but NotFound reaches the caller."""
        try:
            return reader()
        except NotFound:
            raise
        except AffidavitError as error:
            self.missing(what, str(error))
            return None

    def missing(self, what: str, why: str) -> None:
        self.not_read.append(NotRead(what=what, why=why))
