"""Gives the emulator SQS's message move tasks, which it lacks: dead letters go back, so many a second."""

import asyncio
import base64
import json
import time
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

MOST_PER_SECOND = 500
MOST_LISTED = 10
RUNNING, CANCELLING, CANCELLED, COMPLETED = "RUNNING", "CANCELLING", "CANCELLED", "COMPLETED"


@dataclass(kw_only=True, slots=True)
class MoveTask:
    source: str
    destination: str | None
    per_second: int | None
    to_move: int
    status: str = RUNNING
    moved: int = 0
    started: float = field(default_factory=time.time)
    task_id: str = field(default_factory=lambda: str(uuid4()))

    @property
    def handle(self) -> str:
        return base64.b64encode(json.dumps({"taskId": self.task_id, "sourceArn": self.source}).encode()).decode()

    def told(self) -> dict[str, Any]:
        """Without what was not asked for; the handle only while it runs, as SQS does."""
        found = {
            "TaskHandle": self.handle if self.status == RUNNING else None,
            "Status": self.status,
            "SourceArn": self.source,
            "DestinationArn": self.destination,
            "MaxNumberOfMessagesPerSecond": self.per_second,
            "ApproximateNumberOfMessagesMoved": self.moved,
            "ApproximateNumberOfMessagesToMove": self.to_move,
            "StartedTimestamp": int(self.started * 1000),
        }
        return {name: value for name, value in found.items() if value is not None}


class MessageMoves:
    def __init__(self, sqs: Any) -> None:
        self._sqs, self._tasks, self._running = sqs, list[MoveTask](), set[asyncio.Task[None]]()

    async def start(self, asked: dict[str, Any], _url: str) -> dict[str, Any]:
        """Its handlers run in the emulator's loop, where moving goes on after the answer."""
        source, rate = str(asked.get("SourceArn")), asked.get("MaxNumberOfMessagesPerSecond")
        queue, destination = self._dead_letters(source), asked.get("DestinationArn")
        if destination is not None:
            self._queue(str(destination))
        if rate is not None and not 1 <= int(rate) <= MOST_PER_SECOND:
            raise self._sqs._Err("InvalidParameterValue", f"Value {rate} for MaxNumberOfMessagesPerSecond is invalid.")
        if any(task.source == source and task.status in (RUNNING, CANCELLING) for task in self._tasks):
            raise self._sqs._Err("AWS.SimpleQueueService.UnsupportedOperation", "There is already a task running.")
        task = MoveTask(source=source, destination=destination, per_second=rate, to_move=len(queue["messages"]))
        self._tasks.append(task)
        moving = asyncio.get_running_loop().create_task(self._move(task))
        self._running.add(moving)
        moving.add_done_callback(self._running.discard)
        return {"TaskHandle": task.handle}

    def listed(self, asked: dict[str, Any], _url: str) -> dict[str, Any]:
        source, most = str(asked.get("SourceArn")), int(asked.get("MaxResults") or 1)
        self._queue(source)
        newest = [task.told() for task in reversed(self._tasks) if task.source == source]
        return {"Results": newest[: min(most, MOST_LISTED)]}

    def cancel(self, asked: dict[str, Any], _url: str) -> dict[str, Any]:
        for task in self._tasks:
            if task.handle == asked.get("TaskHandle") and task.status == RUNNING:
                task.status = CANCELLING
                return {"ApproximateNumberOfMessagesMoved": task.moved}
        raise self._sqs._Err("ResourceNotFoundException", "The task handle is not known, or its task has ended.", 404)

    async def _move(self, task: MoveTask) -> None:
        queue = self._queue(task.source)
        while task.status == RUNNING and task.moved < task.to_move and queue["messages"]:
            self._deliver(task, queue["messages"].pop(0))
            await asyncio.sleep(1 / (task.per_second or MOST_PER_SECOND))
        task.status = CANCELLED if task.status == CANCELLING else COMPLETED

    def _deliver(self, task: MoveTask, message: dict[str, Any]) -> None:
        origin = message.get("sys", {}).get("DeadLetterQueueSourceArn")
        goal = self._queue(task.destination or str(origin))
        now = time.time()
        # A moved message is a new one to its queue: it may be received as often as any other.
        goal["messages"].append({**message, "receipt_handle": None, "visible_at": now, "receive_count": 0})
        task.moved += 1
        self._sqs.esm_wake.set()

    def _queue(self, arn: str) -> dict[str, Any]:
        found = self._sqs._queue_by_arn(arn)
        if found is None:
            raise self._sqs._Err("ResourceNotFoundException", f"The queue {arn} does not exist.", 404)
        return found

    def _dead_letters(self, arn: str) -> dict[str, Any]:
        queue = self._queue(arn)
        policies = [one["attributes"].get("RedrivePolicy") or "{}" for one in self._sqs._queues.values()]
        if not any(json.loads(one).get("deadLetterTargetArn") == arn for one in policies):
            message = "Source queue must be configured as a Dead Letter Queue."
            raise self._sqs._Err("InvalidParameterValue", message)
        return queue


def add_message_moves(sqs: Any) -> None:
    """`sqs` is the emulator's service module."""
    moves = MessageMoves(sqs)
    sqs._HANDLERS["StartMessageMoveTask"] = moves.start
    sqs._HANDLERS["ListMessageMoveTasks"] = moves.listed
    sqs._HANDLERS["CancelMessageMoveTask"] = moves.cancel


def moved_queue(body: bytes) -> str | None:
    """The ARN of the queue that a request about a move names, for IAM."""
    try:
        asked = json.loads(body)
        handle = asked.get("TaskHandle")
        return asked.get("SourceArn") or (json.loads(base64.b64decode(handle))["sourceArn"] if handle else None)
    except (ValueError, KeyError, AttributeError):
        return None
