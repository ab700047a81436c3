"""Tells people."""

from typing import Protocol


class Notifier(Protocol):
    def notify(self, subject: str, message: str, *, key: str) -> None:
        """`key` names what it is about: after a crash people may be told twice, and the same key is the same notice."""
        ...
