"""The arguments of the collection tools. They are checked here, and nowhere else."""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field, StringConstraints

from affidavit.collection.task_state import CAMEL
from affidavit.wire.byte_budget import MAX_BYTES, MaxBytes
from affidavit.wire.records import ToolRequest

MAX_NODES: Final = 200
SAMPLE_NODES: Final = 5

InstanceId = Annotated[str, StringConstraints(pattern=r"^i-[0-9a-f]{8,17}$")]
Region = Annotated[str, StringConstraints(pattern=r"^[a-z]{2}(-[a-z]+){1,3}-[0-9]{1,2}$")]
ClusterName = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$")]
Token = Annotated[str, StringConstraints(pattern=r"^[!-~]{1,128}$")]
Id = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z-]{1,64}$")]


class CollectionRequest(ToolRequest):
    model_config = CAMEL


class CollectRequest(CollectionRequest):
    instance_id: InstanceId = Field()
    idempotency_token: Token | None = Field(
        None,
        description="Your word for this collection; it starts once in 24 hours.",
    )
    region: Region | None = Field(None, description="Default: looked up.")


class StatusRequest(CollectionRequest):
    execution_id: Id = Field(description="executionId of collect or history.")


class CancelRequest(CollectionRequest):
    execution_id: Id = Field(description="executionId of collect or history.")


class HistoryRequest(CollectionRequest):
    instance_id: InstanceId | None = Field(None, description="Only of this node.")
    limit: int = Field(20, ge=1, le=100, description="Most to list, newest first.")
    max_bytes: MaxBytes = MAX_BYTES


class Strategy(StrEnum):
    SAMPLE = "sample"
    ALL = "all"
    UNHEALTHY = "unhealthy"


class BatchCollectRequest(CollectionRequest):
    cluster_name: ClusterName = Field(description="Name of the EKS cluster.")
    strategy: Strategy = Field(
        Strategy.SAMPLE,
        description="sample: a few, spread over zones and types.",
    )
    max_nodes: int | None = Field(
        None,
        ge=1,
        le=MAX_NODES,
        description=f"Most nodes; default {SAMPLE_NODES} for a sample, else {MAX_NODES}.",
    )
    region: Region | None = Field(None, description="Default: the server's.")
    idempotency_token: Token | None = Field(
        None,
        description="Your word for this batch; asking again continues it.",
    )
    max_bytes: MaxBytes = MAX_BYTES


class BatchStatusRequest(CollectionRequest):
    batch_id: Id = Field(description="batchId of batch_collect.")
    max_bytes: MaxBytes = MAX_BYTES
