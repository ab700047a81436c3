"""Decides who may start an execution. One caller holds the reservation; the others wait for what it records.

The reservation is written before SSM is called. Its holder has a lease. When the holder dies, another caller takes
over and sends SSM the same ClientToken, so an execution that had already started is found and not started twice.
"""

from typing import Final
from uuid import UUID, uuid4, uuid5

from affidavit.collection.permitted_nodes import NodePlace
from affidavit.collection.rows import RESERVATION_LIFE, SAME_QUESTION, Reservation, reservation_key
from affidavit.collection.tool_dependencies import Desk
from affidavit.errors import Conflict
from affidavit.ports.table import Absent, AllOf, AtMost, ConditionFailed, Equals, Key, Lacks, Put, Update

NAMESPACE: Final = UUID("6f1a3a0e-54c5-4b63-9d0e-0b1f6f0c2c55")
WAIT_SECONDS: Final = 0.1


def client_token_of(instance_id: str, token: str) -> str:
    return str(uuid5(NAMESPACE, f"{instance_id}#{token}"))


def find_reservation(instance_id: str, token: str, desk: Desk) -> Reservation | None:
    item = desk.state.get(reservation_key(instance_id, token))
    return None if item is None else Reservation.of(item)


def find_shared_token(key: Key, desk: Desk) -> str | None:
    item = desk.state.get(key)
    return None if item is None else str(item["token"])


def shared_token(key: Key, desk: Desk) -> str:
    """The token for all callers who give none and ask the same within a few minutes of the first."""
    ttl = int((desk.clock.now() + SAME_QUESTION).timestamp())
    item = {"pk": key.pk, "sk": key.sk, "token": f"auto-{uuid4()}", "ttl": ttl}
    while True:
        try:
            desk.state.write(Put(item=item, when=Absent()))
        except ConditionFailed:
            known = find_shared_token(key, desk)
            if known is not None:  # else it expired in between; try again
                return known
        else:
            return str(item["token"])


def claim(instance_id: str, token: str, place: NodePlace, desk: Desk) -> tuple[Reservation, bool]:
    """The reservation, and whether it is ours to start. When it is not, it names its execution.

    Raises:
        Conflict: somebody else is starting it and has not said which execution it is.
    """
    wish = _wish(instance_id, token, place, desk)
    waited = 0.0
    while True:
        held = _try(wish, desk)
        if held is not None and (held.execution_id is not None or held.owner == wish.owner):
            return held, held.execution_id is None
        if waited >= desk.patience.total_seconds():
            raise Conflict(
                f"another call is starting this collection of {instance_id}",
                hint=f"call collect again in a few seconds with idempotencyToken {token}",
            )
        desk.pause(WAIT_SECONDS)
        waited += WAIT_SECONDS


def release(mine: Reservation, desk: Desk) -> None:
    """End the lease, so that the next caller need not wait. The reservation stays, and with it the ClientToken."""
    desk.state.write(
        Update(
            key=mine.key,
            set={"lease_until": 0.0},
            when=AllOf((Equals("owner", mine.owner), Lacks("execution_id"))),
        )
    )


def _wish(instance_id: str, token: str, place: NodePlace, desk: Desk) -> Reservation:
    return Reservation(
        instance_id=instance_id,
        token=token,
        region=place.region,
        cluster=place.cluster,
        client_token=client_token_of(instance_id, token),
        owner=str(uuid4()),
        lease_until=_lease_end(desk),
    )


def _lease_end(desk: Desk) -> float:
    return (desk.clock.now() + desk.lease).timestamp()


def _try(wish: Reservation, desk: Desk) -> Reservation | None:
    """The reservation after one attempt; None when another caller changed it meanwhile."""
    try:
        desk.state.write(Put(item=wish.item(wish.key, now=desk.clock.now(), life=RESERVATION_LIFE), when=Absent()))
    except ConditionFailed:
        held = find_reservation(wish.instance_id, wish.token, desk)
        if held is None or held.execution_id is not None or held.lease_until > desk.clock.now().timestamp():
            return held
        return _take_over(held, wish, desk)
    return wish


def _take_over(held: Reservation, wish: Reservation, desk: Desk) -> Reservation | None:
    """Keeps the first holder's region and ClientToken: SSM refuses a known token with other parameters."""
    lease = {"owner": wish.owner, "lease_until": _lease_end(desk)}
    is_dead = AllOf(
        (
            Equals("owner", held.owner),
            AtMost("lease_until", desk.clock.now().timestamp()),
            Lacks("execution_id"),
        )
    )
    try:
        desk.state.write(Update(key=held.key, set=lease, when=is_dead))
    except ConditionFailed:
        return None
    return held.model_copy(update=lease)
