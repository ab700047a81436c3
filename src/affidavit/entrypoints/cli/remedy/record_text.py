"""What the record of a repair remembers, in words: a line an entry, and who else wrote at the same moment."""

from collections.abc import Iterator, Sequence

from affidavit.remediation.execution.other_writers import Bystanders, own_calls
from affidavit.remediation.plan.plan_record import Plan
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


def others_told(bystanders: Bystanders, plan: Plan, record: Sequence[RecordEntry]) -> Iterator[str]:
    """Asked anew: CloudTrail delivers late. Nothing where each call had a token, or none was made."""
    if any(own_calls(plan, record)):
        seen = bystanders.seen(plan, record)
        yield from seen.sentences or ["CloudTrail shows no write of others between read and call."]
