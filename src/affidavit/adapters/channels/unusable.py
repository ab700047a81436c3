"""A channel whose settings are not whole: every notice fails with the reason, and is tried again later."""

from dataclasses import dataclass

from affidavit.errors import InputRefused
from affidavit.ports.notice_record import Notice


@dataclass(frozen=True)
class UnusableNotifier:
    reason: InputRefused

    def takes(self, notice: Notice) -> bool:
        return True

    def notify(self, notice: Notice, *, earlier: str) -> str:
        raise self.reason
