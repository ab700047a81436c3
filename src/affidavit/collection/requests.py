"""What a caller may ask of collection, checked once, here."""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field, StringConstraints

from affidavit.collection.tasks import Wire

MAX_NODES: Final = 200
SAMPLE_NODES: Final = 5

InstanceId = Annotated[str, StringConstraints(pattern=r"^i-[0-9a-f]{8,17}$")]
Region = Annotated[str, StringConstraints(pattern=r"^[a-z]{2}(-[a-z]+){1,3}-[0-9]{1,2}$")]
ClusterName = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$")]
Token = Annotated[str, StringConstraints(pattern=r"^[!-~]{1,128}$")]
Id = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z-]{1,64}$")]


class CollectRequest(Wire):
    instance_id: InstanceId = Field(description="EC2 instance id of the worker node, such as i-0123456789abcdef0.")
    idempotency_token: Token | None = Field(
        None,
        description="Any word of yours that names this collection. The same word and node give the same execution for "
        "24 hours, however often you ask. Without one, calls for a node within five minutes of the first share one.",
    )
    region: Region | None = Field(None, description="AWS region of the node; looked up when left out.")


class StatusRequest(Wire):
    execution_id: Id = Field(description="executionId of an earlier answer of collect or history.")
    cancel: bool = Field(False, description="true asks to stop the collection. What has ended already stays as it is.")


class HistoryRequest(Wire):
    instance_id: InstanceId | None = Field(None, description="Only collections of this node; all nodes when left out.")
    limit: int = Field(20, ge=1, le=100, description="How many to list at most, newest first.")


class Strategy(StrEnum):
    SAMPLE = "sample"
    ALL = "all"
    UNHEALTHY = "unhealthy"


class BatchCollectRequest(Wire):
    cluster_name: ClusterName = Field(description="Name of the EKS cluster.")
    strategy: Strategy = Field(
        Strategy.SAMPLE,
        description="sample: a few nodes spread over zones and instance types, the same ones each time. all: every "
        "running node. unhealthy: those whose status checks fail.",
    )
    max_nodes: int | None = Field(
        None,
        ge=1,
        le=MAX_NODES,
        description=f"At most this many nodes; {SAMPLE_NODES} for a sample and {MAX_NODES} otherwise when left out. "
        "How many were left out is in the answer.",
    )
    region: Region | None = Field(None, description="AWS region of the cluster; the server's own when left out.")
    idempotency_token: Token | None = Field(
        None,
        description="Any word of yours that names this batch. Asking again with it continues the same batch and starts "
        "only what has not been started. Without one, the same question within five minutes is the same batch.",
    )


class BatchStatusRequest(Wire):
    batch_id: Id = Field(description="batchId of an answer of batch_collect.")
