"""Injects and restores faults. The old state is saved before anything changes, and deleted only after it is restored.

While an experiment is saved, a second one of its kind is refused: it would save the broken state as the good one.
"""

from collections.abc import Sequence
from datetime import datetime

from pydantic import BaseModel, ConfigDict, ValidationError

from affidavit.changes.reversible import Change
from affidavit.chaos.allowed_targets import check_allowed
from affidavit.chaos.injectable_faults import InjectedFault
from affidavit.errors import Conflict, InvariantBroken, NotFound, UpstreamFailed
from affidavit.ports.clock import Clock
from affidavit.ports.fault_target import FaultTarget
from affidavit.ports.json import Item
from affidavit.ports.table import Absent, ConditionFailed, Delete, Key, Put, Table


class Experiment(BaseModel):
    """An experiment as saved. After a crash, some, all or none of its `changes` may have been made."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    function: str
    fault: InjectedFault
    account: str
    started_at: datetime
    changes: tuple[Change, ...]

    @property
    def key(self) -> Key:
        return Key(pk=f"CHAOS#{self.account}#{self.function}", sk=self.fault.value)


def inject(
    target: FaultTarget,
    table: Table,
    clock: Clock,
    *,
    function: str,
    fault: InjectedFault,
    changes: Sequence[Change],
    accounts: frozenset[str],
) -> Experiment:
    """Raises InputRefused where chaos is not allowed, Conflict while an experiment of this kind is not restored."""
    check_allowed(target, function, changes, accounts=accounts)
    experiment = Experiment(
        function=function, fault=fault, account=target.account(), started_at=clock.now(), changes=tuple(changes)
    )
    _save(table, experiment)
    for change in experiment.changes:
        change.make(target)
    return experiment


def restore(target: FaultTarget, table: Table, *, function: str, fault: InjectedFault) -> Experiment:
    """Put back what was there, in reverse. May be repeated, also after a crash half-way.

    Raises NotFound when nothing is saved.
    """
    experiment = _load(table, target.account(), function, fault)
    for change in reversed(experiment.changes):
        change.undo(target)
    _check_undone(target, experiment)
    table.write(Delete(key=experiment.key))
    return experiment


def saved_experiments(target: FaultTarget, table: Table, *, function: str) -> list[Experiment]:
    """Experiments that are not restored yet."""
    return [_read(item) for item in table.query(f"CHAOS#{target.account()}#{function}")]


def _save(table: Table, experiment: Experiment) -> None:
    item: Item = {
        "pk": experiment.key.pk,
        "sk": experiment.key.sk,
        # Stored as one text: a table may return numbers in another form, and the old state must come back exactly.
        "experiment": experiment.model_dump_json(),
    }
    try:
        table.write(Put(item=item, when=Absent()))
    except ConditionFailed as error:
        raise Conflict(
            f"a {experiment.fault} experiment on {experiment.function} is not restored yet",
            hint=f"run `affidavit chaos restore {experiment.fault}` first",
        ) from error


def _load(table: Table, account: str, function: str, fault: InjectedFault) -> Experiment:
    item = table.get(Key(pk=f"CHAOS#{account}#{function}", sk=fault.value))
    if item is None:
        raise NotFound(f"no {fault} experiment on {function} is saved", hint="there is nothing to restore")
    return _read(item)


def _read(item: Item) -> Experiment:
    try:
        return Experiment.model_validate_json(str(item.get("experiment")))
    except ValidationError as error:
        raise InvariantBroken(f"the saved experiment {item['pk']} {item['sk']} cannot be read") from error


def _check_undone(target: FaultTarget, experiment: Experiment) -> None:
    left = [str(change) for change in experiment.changes if not change.is_undone(target)]
    if left:
        raise UpstreamFailed(
            f"not back yet: {'; '.join(left)}", hint="what was there stays saved; restore again", is_retryable=True
        )
