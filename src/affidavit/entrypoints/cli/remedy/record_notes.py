"""One line on what an entry of a repair's record remembers."""

from collections.abc import Iterator

from affidavit.remediation.record.chain import RecordEntry


def noted(entry: RecordEntry) -> str:
    """Who did it, and what is worth knowing beside the phase."""
    return f"{entry.by}{''.join(f'; {one}' for one in _notes(entry))}"


def _notes(entry: RecordEntry) -> Iterator[str]:
    details = entry.details
    if "proof" in details:
        yield f"approved this seal, known by {details['proof']}"
    if isinstance(step := details.get("step"), int):
        yield f"action {step + 1}"
    if "settled" in details:
        yield f"settled by reading: {details['settled']}"
    if details.get("is_undone") is True:
        yield "is as before"
    if why := details.get("why"):
        yield str(why).splitlines()[0]
