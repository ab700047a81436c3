"""Trying again at the call that failed, under one deadline. Nothing that already happened is done twice."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

from affidavit.agent.error_categories import classify_error
from affidavit.agent.errors import ChatModelFailed
from affidavit.agent.limits import Patience
from affidavit.agent.time_and_tokens import Timed, seconds_left

_LOG = logging.getLogger(__name__)
T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]


class OutOfTime(Exception):
    """The deadline left no room to wait for this call."""


async def attempted(
    call: Callable[[], Awaitable[T]],
    *,
    incident_id: str,
    timed: Timed,
    patience: Patience,
    until_before: float,
    sleep: Sleep = asyncio.sleep,
) -> T:
    """The result of `call`, tried again after a transient failure. `until_before`: seconds to leave to the deadline.

    Raises OutOfTime when waiting would pass that point, else what the last attempt raised.
    """
    for attempt in range(1, patience.attempts + 1):
        room = seconds_left(timed) - until_before
        if room <= 0:
            raise OutOfTime
        try:
            return await _within(call, room)
        except Exception as error:
            pause, told = max(patience.backoff_base**attempt, _asked_for(error)), classify_error(error)
            is_last = attempt == patience.attempts or not told.category.is_transient
            if isinstance(error, OutOfTime) or is_last:
                raise
            if seconds_left(timed) - until_before <= pause:
                if _asked_for(error) > 0:
                    raise  # a later attempt of the incident has the time that was asked for
                raise OutOfTime from error
            # Once the second attempt is good, nothing else tells that the first was not.
            _LOG.warning("incident %s: %s; trying again in %g s", incident_id, " ".join(str(told).split()), pause)
            await sleep(pause)
    raise OutOfTime


def _asked_for(error: Exception) -> float:
    """Seconds that a chat model asked to be left alone."""
    return (error.wait or 0.0) if isinstance(error, ChatModelFailed) else 0.0


async def _within(call: Callable[[], Awaitable[T]], room: float) -> T:
    """A timeout of the call's own passes through as it is; only ours means that the run is out of time."""
    limit = asyncio.timeout(room)
    try:
        async with limit:
            return await call()
    except TimeoutError as error:
        if limit.expired():
            raise OutOfTime from error
        raise


async def in_thread(work: Callable[[], T]) -> T:
    """Run blocking work in a thread that nobody has to wait for.

    The event loop's own executor is joined when the loop closes, so a chat model that hangs would hold the whole
    program until its socket gives up.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: Callable[[], None]) -> None:
        # The loop may be closed by then: nobody waits for this reply any more.
        if not loop.is_closed():
            loop.call_soon_threadsafe(lambda: None if done.done() else result())

    def run() -> None:
        try:
            value = work()
        except BaseException as error:  # noqa: BLE001 - it is raised again where it is awaited
            failure = error
            settle(lambda: done.set_exception(failure))
        else:
            settle(lambda: done.set_result(value))

    threading.Thread(target=run, name="affidavit-call", daemon=True).start()
    return await done
