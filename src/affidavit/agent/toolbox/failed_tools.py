"""Lists the errors that tools returned instead of an answer."""

from collections.abc import Mapping, Sequence

from affidavit.verification.ledger_entry import Entry


def unanswered(entries: Sequence[Entry]) -> tuple[str, ...]:
    """What tools said instead of an answer, each saying once with everybody who said it."""
    answered = {entry.tool for entry in entries if not _has_error(entry)}
    said: dict[str, list[str]] = {}
    for entry in entries:
        if isinstance(entry.answer, Mapping) and entry.tool not in answered:
            said.setdefault(str(entry.answer["error"]), []).append(entry.tool)
    return tuple(f"{', '.join(dict.fromkeys(tools))}: {error}" for error, tools in said.items())


def failed_tools(entries: Sequence[Entry]) -> frozenset[str]:
    """Tools that were asked and never answered with anything but an error."""
    failed = {entry.tool for entry in entries if _has_error(entry)}
    return frozenset(failed - {entry.tool for entry in entries if not _has_error(entry)})


def _has_error(entry: Entry) -> bool:
    return isinstance(entry.answer, Mapping) and bool(entry.answer.get("error"))
