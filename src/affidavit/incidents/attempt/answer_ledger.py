"""Records every tool answer of an investigation before anybody may cite it."""

from collections.abc import Iterable, Mapping

from affidavit.ports.json import JsonValue
from affidavit.verification.ledger_entry import Entry, make_entry

__all__ = ["Entry", "Ledger"]


class Ledger:
    """Grows only. The same call with the same answer is one entry, so a resumed run records nothing twice."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries = {entry.sha256: entry for entry in entries}

    def record(self, tool: str, arguments: Mapping[str, JsonValue], answer: JsonValue) -> Entry:
        entry = make_entry(f"E-{len(self._entries) + 1:03d}", tool, arguments, answer)
        return self._entries.setdefault(entry.sha256, entry)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """In the order they were recorded."""
        return tuple(self._entries.values())
