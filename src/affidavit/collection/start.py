"""Starts an execution exactly once: reserve, start, record. After a crash in between, the next caller continues."""

from contextlib import suppress
from dataclasses import dataclass

from affidavit.collection.permitted_nodes import NodePlace, collector_of
from affidavit.collection.reservation import claim, find_reservation, release
from affidavit.collection.rows import EXECUTION_LIFE, KnownExecution, Reservation, execution_key, history_of
from affidavit.collection.tool_dependencies import Desk
from affidavit.errors import AffidavitError, InvariantBroken, NotFound
from affidavit.ports.table import Absent, ConditionFailed, Key, Lacks, Put, Update, Write
from affidavit.progress import who_waits


@dataclass(frozen=True, kw_only=True, slots=True)
class Started:
    execution: KnownExecution
    is_ours: bool
    """This call started it, or finished what a dead caller had begun."""


def find_execution(execution_id: str, desk: Desk) -> KnownExecution:
    """Raises NotFound for an execution that we did not start."""
    item = desk.state.get(execution_key(execution_id))
    if item is None:
        raise NotFound(
            f"no collection has the id {execution_id}",
            hint=f"call history for the collections of the last {EXECUTION_LIFE.total_seconds() / 3600:.0f} hours",
        )
    return KnownExecution.of(item)


def start_once(instance_id: str, token: str, place: NodePlace, desk: Desk) -> Started:
    reservation, is_ours = claim(instance_id, token, place, desk)
    if not is_ours:
        return Started(execution=_recorded(reservation, desk), is_ours=False)
    try:
        return _start(reservation, desk)
    except AffidavitError:
        # It may have been started: SSM knows by the ClientToken. If the release fails too, the lease runs out.
        with suppress(AffidavitError):
            release(reservation, desk)
        raise


def _start(mine: Reservation, desk: Desk) -> Started:
    who_waits().tell(1, 2, f"asking SSM to collect {mine.instance_id}")
    execution_id = collector_of(desk).start(mine.instance_id, region=mine.region, client_token=mine.client_token)
    known = desk.state.get(execution_key(execution_id))
    if known is not None:  # the token outlived its reservation, and SSM remembered it
        _record([_execution_named(mine, execution_id)], mine, execution_id, desk)
        return Started(execution=KnownExecution.of(known), is_ours=False)
    execution = _new(mine, execution_id, desk)
    _record([_execution_named(mine, execution_id), *_rows(execution, desk)], mine, execution_id, desk)
    return Started(execution=execution, is_ours=True)


def _new(mine: Reservation, execution_id: str, desk: Desk) -> KnownExecution:
    return KnownExecution(
        execution_id=execution_id,
        instance_id=mine.instance_id,
        region=mine.region,
        cluster=mine.cluster,
        token=mine.token,
        recorded_at=desk.clock.now(),
    )


def _execution_named(mine: Reservation, execution_id: str) -> Update:
    return Update(key=mine.key, set={"execution_id": execution_id}, when=Lacks("execution_id"))


def _rows(execution: KnownExecution, desk: Desk) -> list[Write]:
    moment = f"{execution.recorded_at.isoformat(timespec='microseconds')}#{execution.execution_id}"
    keys = [execution_key(execution.execution_id)]
    keys += [Key(pk=history_of(node), sk=moment) for node in (None, execution.instance_id)]
    return [
        Put(item=execution.item(key, now=execution.recorded_at, life=EXECUTION_LIFE), when=Absent()) for key in keys
    ]


def _record(writes: list[Write], mine: Reservation, execution_id: str, desk: Desk) -> None:
    """Writes all rows or none. It is fine when a caller that took over has recorded the same execution."""
    try:
        desk.state.write_all(writes)
    except ConditionFailed:
        standing = find_reservation(mine.instance_id, mine.token, desk)
        if standing is None or standing.execution_id is None:
            raise
        if standing.execution_id != execution_id:
            raise InvariantBroken(
                f"SSM gave two executions for one ClientToken of {mine.instance_id}: "
                f"{standing.execution_id} and {execution_id}",
                hint="stop one of them by hand in the SSM console",
            ) from None


def _recorded(reservation: Reservation, desk: Desk) -> KnownExecution:
    return find_execution(reservation.execution_id or "", desk)
