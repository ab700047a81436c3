"""What collection answers. Every answer can be checked against the schema made of these records."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from affidavit.collection.requests import Strategy
from affidavit.collection.tasks import Task, TaskState, Wire


class Answer(Wire):
    success: Literal[True] = True


class CollectAnswer(Answer):
    task: Task
    execution_id: str = Field(description="Id of the SSM Automation execution; ask status about it.")
    instance_id: str
    region: str
    idempotency_key: str = Field(description="The token this collection is known by: yours, or the one made for you.")
    idempotent: bool = Field(
        description="true when an execution that was known already is returned and nothing was started. It is false "
        "for the call that finishes what a caller that died had begun."
    )


class StepProgress(Wire):
    name: str
    status: str = Field(description="The service's own word, such as Success or InProgress.")


class Progress(Wire):
    steps_done: int
    steps_total: int = Field(description="Steps of the runbook, and one more for indexing.")
    percent: int = Field(description="Steps done out of all, 0 to 100; 100 only when completed.")
    current_step: str | None = Field(description="The step under way; null before the first and after the last.")
    steps: list[StepProgress]


class StatusAnswer(Answer):
    task: Task
    progress: Progress
    execution_id: str
    instance_id: str
    region: str
    collection_status: str = Field(description="SSM's own word for the execution, such as InProgress or Success.")
    started_at: datetime | None
    ended_at: datetime | None = Field(description="When the collection on the node ended, indexing not counted.")


class PastCollection(Wire):
    execution_id: str
    instance_id: str
    region: str
    state: TaskState | None = Field(description="null when it could not be read just now; the message says why.")
    message: str
    recorded_at: datetime
    idempotency_key: str


class HistoryAnswer(Answer):
    collections: list[PastCollection] = Field(description="Newest first.")
    retention_hours: int = Field(description="Older collections are forgotten: an empty list means none since then.")
    truncated: bool = Field(description="true when there are more than the limit.")


class BatchNode(Wire):
    instance_id: str
    zone: str
    instance_type: str
    execution_id: str | None = Field(description="null when nothing was started on this node.")
    state: TaskState | None = Field(
        description="null: not asked yet (call batch_collect again with the same idempotencyToken), or the state could "
        "not be read just now; the message says which."
    )
    message: str


class PassedOver(Wire):
    instance_id: str
    reason: str


class BatchCounts(Wire):
    total: int
    working: int
    completed: int
    failed: int
    cancelled: int
    unknown: int = Field(description="Not asked yet, or the state could not be read.")


class BatchAnswer(Answer):
    """Of batch_collect and of batch_status."""

    task: Task
    batch_id: str
    cluster_name: str
    region: str
    strategy: Strategy
    idempotency_key: str
    nodes: list[BatchNode]
    counts: BatchCounts
    nodes_found: int = Field(description="Nodes the cluster had when the batch was made.")
    left_out: int = Field(description="Nodes that fitted the strategy but not maxNodes. They were not looked at.")
    passed_over: list[PassedOver] = Field(
        description="Nodes that could not be taken, each with its reason; the first hundred of them."
    )
    passed_over_total: int
    idempotent: bool = Field(description="true when the batch was known already and has been continued or only read.")
