"""Checks systemd units and Windows services.

`systemctl list-units` leaves out what is not active, so absence counts only in a complete list. `Get-Service` lists
every service, whatever its state.
"""

from collections.abc import Iterator, Sequence

from affidavit.checks.computation_results import Found, NotComputable, Shown
from affidavit.checks.numbered_lines import Document, named

_SERVICES = "system/services.txt"


def none_active(documents: Sequence[Document], *, units: tuple[str, ...], called: str) -> Iterator[Found]:
    """None of `units` is active. A failed one is left to the rules that read the same list."""
    if (document := named(documents, _SERVICES)) is None:
        return
    states, end = _units(document)
    if not states:
        yield NotComputable(document.path, f"holds no list of units, so whether {called} runs is unknown")
        return
    found = {unit: states[unit] for unit in units if unit in states}
    if any(active in ("active", "reloading", "failed") for _, active, _ in found.values()):
        return
    for unit, (line, active, sub) in found.items():
        yield Shown(document.path, line, f"{unit} is {active} ({sub})")
    if not found and end:
        yield Shown(document.path, end, f"none of {', '.join(units)} is among {len(states)} units")


def windows_stopped(documents: Sequence[Document], *, names: tuple[str, ...]) -> Iterator[Found]:
    """Reads blocks of `Name : …` and `Status : …` lines, one per service."""
    for document in documents:
        name = ""
        for number, text in document.lines():
            key, _, value = (part.strip() for part in text.partition(":"))
            if key == "Name":
                name = value
            elif key == "Status" and name in names and value not in ("Running", ""):
                yield Shown(document.path, number, f"the service {name} is {value}")


def _units(document: Document) -> tuple[dict[str, tuple[int, str, str]], int]:
    """Unit → line, active and sub state; and the line of the count at the end, 0 when it is not there."""
    units: dict[str, tuple[int, str, str]] = {}
    end = 0
    for number, text in document.lines():
        words = text.replace("●", " ").replace("*", " ").split(None, 4)
        if "loaded units listed" in text:
            end = number
        elif len(words) > 3 and words[1] in ("loaded", "not-found", "masked", "bad-setting", "error"):
            units[words[0]] = (number, words[2], words[3])
    return units, end
