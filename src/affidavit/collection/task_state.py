"""The task envelope: how a client that polls sees long work."""

from enum import StrEnum
from typing import Final

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from affidavit.wire.records import WireRecord

TASK_SECONDS: Final = 600
POLL_SECONDS: Final = 15
CAMEL: Final = ConfigDict(alias_generator=to_camel)


class CamelRecord(WireRecord):
    """Names are camelCase on the wire."""

    model_config = CAMEL


class TaskState(StrEnum):
    WORKING = "working"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def has_ended(self) -> bool:
        return self is not TaskState.WORKING


class Task(CamelRecord):
    task_id: str = Field(description="Id to ask about later; the same as executionId (or batchId).")
    state: TaskState = Field(
        description="working: not done yet, ask again. completed: collected and indexed, the bundle can be questioned. "
        "failed: ended without a bundle, the message says why. cancelled: somebody stopped it."
    )
    message: str = Field(description="One sentence on where it stands and what to do next.")
    ttl: int = Field(description="Seconds for which it is worth polling: 600 while working, 0 once it has ended.")
    suggested_poll_interval: int = Field(description="Seconds to wait before asking again: 15, or 0 once it has ended.")


def a_task(task_id: str, state: TaskState, message: str) -> Task:
    seconds = (0, 0) if state.has_ended else (TASK_SECONDS, POLL_SECONDS)
    return Task(task_id=task_id, state=state, message=message, ttl=seconds[0], suggested_poll_interval=seconds[1])
