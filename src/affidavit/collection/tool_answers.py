"""The answers of the collection tools. Their published schemas are made from these records."""

from datetime import datetime

from pydantic import Field

from affidavit.collection.requests import Strategy
from affidavit.collection.task_state import CAMEL, CamelRecord, Task, TaskState
from affidavit.wire.records import ToolAnswer


class CollectionAnswer(ToolAnswer):
    model_config = CAMEL


class CollectAnswer(CollectionAnswer):
    task: Task = Field(description="Where it stands.")
    execution_id: str = Field(description="Id of the SSM Automation execution; ask status about it.")
    instance_id: str = Field(description="The node.")
    region: str = Field(description="Its AWS region.")
    idempotency_key: str = Field(description="The token this collection is known by: yours, or the one made for you.")
    idempotent: bool = Field(
        description="true when an execution that was known already is returned and nothing was started. It is false "
        "for the call that finishes what a caller that died had begun."
    )


class StepProgress(CamelRecord):
    name: str = Field(description="Name of the step.")
    status: str = Field(description="The service's own word, such as Success or InProgress.")


class Progress(CamelRecord):
    steps_done: int = Field(description="Steps that have ended.")
    steps_total: int = Field(description="Steps of the runbook, and one more for indexing.")
    percent: int = Field(description="Steps done out of all, 0 to 100; 100 only when completed.")
    current_step: str | None = Field(description="The step under way; null before the first and after the last.")
    steps: list[StepProgress] = Field(description="Each step of the runbook.")


class StatusAnswer(CollectionAnswer):
    task: Task = Field(description="Where it stands.")
    progress: Progress = Field(description="How far it is.")
    execution_id: str = Field(description="The execution that was asked about.")
    instance_id: str = Field(description="The node.")
    region: str = Field(description="Its AWS region.")
    collection_status: str = Field(description="SSM's own word for the execution, such as InProgress or Success.")
    started_at: datetime | None = Field(description="When it began, UTC; null when nobody says.")
    ended_at: datetime | None = Field(description="When the collection on the node ended, indexing not counted.")


class PastCollection(CamelRecord):
    execution_id: str = Field(description="Pass it to status.")
    instance_id: str = Field(description="The node.")
    region: str = Field(description="Its AWS region.")
    state: TaskState | None = Field(description="null when it could not be read just now; the message says why.")
    message: str = Field(description="Where it stands.")
    recorded_at: datetime = Field(description="When it was started, UTC.")
    idempotency_key: str = Field(description="The token it is known by.")


class HistoryAnswer(CollectionAnswer):
    collections: list[PastCollection] = Field(description="Newest first.")
    retention_hours: int = Field(description="Older collections are forgotten: an empty list means none since then.")


class BatchNode(CamelRecord):
    instance_id: str = Field(description="The node.")
    zone: str = Field(description="Its availability zone.")
    instance_type: str = Field(description="Its EC2 type.")
    execution_id: str | None = Field(description="null when nothing was started on this node.")
    state: TaskState | None = Field(
        description="null: not asked yet (call batch_collect again with the same idempotencyToken), or the state could "
        "not be read just now; the message says which."
    )
    message: str = Field(description="Where it stands.")


class PassedOver(CamelRecord):
    instance_id: str = Field(description="The node.")
    reason: str = Field(description="Why it could not be taken.")


class BatchCounts(CamelRecord):
    total: int = Field(description="Nodes of the batch.")
    working: int = Field(description="Not done yet.")
    completed: int = Field(description="Collected and indexed.")
    failed: int = Field(description="Ended without a bundle.")
    cancelled: int = Field(description="Stopped by somebody.")
    unknown: int = Field(description="Not asked yet, or the state could not be read.")


class BatchAnswer(CollectionAnswer):
    """Of batch_collect and of batch_status."""

    task: Task = Field(description="Where the whole batch stands.")
    batch_id: str = Field(description="Pass it to batch_status.")
    cluster_name: str = Field(description="The cluster.")
    region: str = Field(description="Its AWS region.")
    strategy: Strategy = Field(description="How nodes were chosen.")
    idempotency_key: str = Field(description="The token this batch is known by: yours, or the one made for you.")
    nodes: list[BatchNode] = Field(description="The chosen nodes; counts has all of them when not all fit.")
    counts: BatchCounts = Field(description="The chosen nodes by state.")
    nodes_found: int = Field(description="Nodes the cluster had when the batch was made.")
    left_out: int = Field(description="Nodes that fitted the strategy but not maxNodes. They were not looked at.")
    passed_over: list[PassedOver] = Field(
        description="Nodes that could not be taken, each with its reason; as many as fit."
    )
    passed_over_total: int = Field(description="How many could not be taken, listed or not.")
    idempotent: bool = Field(description="true when the batch was known already and has been continued or only read.")
