"""Every sealed field, changed after the approval, for every action type: refused, and nothing is called."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.repairing.remediation import an_action
from tests.support.repairing.repairs import a_workshop

from affidavit.errors import Conflict, InvariantBroken
from affidavit.ports.table import Key, Update
from affidavit.remediation.actions.catalog import action_type, catalog
from affidavit.remediation.plan.seal import plan_bytes, seal_of_bytes
from affidavit.remediation.record.store import plan_key


def mutations(value: Any) -> Iterator[Any]:
    """The same JSON with one leaf changed, each in turn; and with one thing more."""
    if isinstance(value, dict):
        yield {**value, "added": 1}
        for key, inner in value.items():
            yield from ({**value, key: changed} for changed in mutations(inner))
    elif isinstance(value, list):
        yield [*value, *value[-1:]] if value else ["added"]
        for at, inner in enumerate(value):
            yield from ([*value[:at], changed, *value[at + 1 :]] for changed in mutations(inner))
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield value + 1
    else:
        yield f"{value}x"


@pytest.mark.parametrize("kind", list(catalog()))
def test_a_field_that_changed_after_the_approval_is_refused_and_calls_nothing(tmp_path: Path, kind: str) -> None:
    workshop, known = a_workshop(tmp_path), action_type(kind)
    plan = workshop.plan(an_action(type=kind, risk=known.risk, undo_class=known.undo_class))
    row = workshop.approved(plan)
    objects, table = workshop.bench.objects, workshop.plans.table
    key, refused = Key(pk=f"remediation#{row.plan_id}", sk="state"), 0
    for changed in mutations(json.loads(plan_bytes(plan))):
        data = json.dumps(changed, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        # In place of what was sealed, and beside it, with the row led there.
        for seal in (row.seal, seal_of_bytes(data)):
            objects.put(plan_key(row.plan_id, seal), data, purpose="test")
            table.write(Update(key=key, set={"seal": seal}))
            with pytest.raises((InvariantBroken, Conflict)):
                workshop.executor.run(row.plan_id)
            refused += 1
        objects.put(plan_key(row.plan_id, row.seal), plan_bytes(plan), purpose="test")
        table.write(Update(key=key, set={"seal": row.seal}))
    assert refused >= 60
    assert workshop.door.grants == []
