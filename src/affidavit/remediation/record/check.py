"""Proves a record again from what is stored: the chain, the seal, and that the row says what the chain says."""

from collections.abc import Iterator
from dataclasses import fields

from affidavit.errors import AffidavitError
from affidavit.remediation.record.chain import broken_links, entry_from_text
from affidavit.remediation.record.store import PlanRow, PlanStore, derived


def broken_record(plans: PlanStore, plan_id: str) -> Iterator[str]:
    """What does not hold, in words. Raises NotFound when there is no such plan."""
    row, stored = _of_one_moment(plans, plan_id)
    troubles = list(broken_links(plan_id, stored))
    yield from troubles
    if troubles or not stored:
        yield from ["the record has no entry"] if not stored else []
        return
    entries = [entry_from_text(text) for text, _ in stored]
    yield from _differences(row, derived(row.plan_id, row.seal, entries))
    if entries[0].details.get("seal") != row.seal:
        yield "the row names another seal than the record"
    try:
        plans.plan(row)
    except AffidavitError as error:
        yield str(error)


def _of_one_moment(plans: PlanStore, plan_id: str) -> tuple[PlanRow, list[tuple[str, str]]]:
    """Row and entries are two reads: somebody who goes on with the plan in between has not damaged its record."""
    row = plans.get(plan_id)
    while True:
        stored, after = plans.stored_entries(plan_id), plans.get(plan_id)
        if after == row:
            return row, stored
        row = after


def _differences(row: PlanRow, from_record: PlanRow) -> Iterator[str]:
    for field in fields(PlanRow):
        if getattr(row, field.name) != getattr(from_record, field.name):
            yield f"the row's {field.name} is not what the record leads to"
