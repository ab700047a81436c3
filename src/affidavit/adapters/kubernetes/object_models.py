"""The objects of Kubernetes that we read, with the fields that matter here. What a server leaves out is empty."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel


def _no_entries(value: Any) -> Any:
    return {} if value is None else value


def _no_items(value: Any) -> Any:
    return [] if value is None else value


def _text(value: Any) -> Any:
    return "" if value is None else value


Text = Annotated[str, BeforeValidator(_text)]


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)


class Metadata(_Shape):
    name: Text = ""
    namespace: Text = ""
    uid: Text = ""
    annotations: Annotated[dict[str, str], BeforeValidator(_no_entries)] = Field(default_factory=dict[str, str])


class Taint(_Shape):
    key: str
    value: Text = ""
    effect: Text = ""

    def __str__(self) -> str:
        return f"{self.key}{f'={self.value}' if self.value else ''}:{self.effect}"


class ConditionShape(_Shape):
    type: str
    status: str
    reason: Text = ""
    message: Text = ""
    last_transition_time: datetime | None = None
    last_heartbeat_time: datetime | None = None


class NodeSpec(_Shape):
    provider_id: Text = Field(default="", alias="providerID")
    unschedulable: bool | None = None
    taints: Annotated[list[Taint], BeforeValidator(_no_items)] = Field(default_factory=list[Taint])


Conditions = Annotated[list[ConditionShape], BeforeValidator(_no_items)]


class NodeStatus(_Shape):
    conditions: Conditions = Field(default_factory=list[ConditionShape])


class NodeShape(_Shape):
    metadata: Metadata
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class Series(_Shape):
    count: int | None = None
    last_observed_time: datetime | None = None


class EventShape(_Shape):
    type: Text = ""
    reason: Text = ""
    message: Text = ""
    count: int | None = None
    last_timestamp: datetime | None = None
    event_time: datetime | None = None
    series: Series | None = None


class StateReason(_Shape):
    reason: Text = ""


class ContainerState(_Shape):
    waiting: StateReason | None = None
    terminated: StateReason | None = None


class ContainerStatus(_Shape):
    restart_count: int = 0
    state: ContainerState | None = None
    last_state: ContainerState | None = None


class PodStatus(_Shape):
    phase: Text = ""
    reason: Text = ""
    conditions: Conditions = Field(default_factory=list[ConditionShape])
    container_statuses: Annotated[list[ContainerStatus], BeforeValidator(_no_items)] = Field(
        default_factory=list[ContainerStatus]
    )


class PodShape(_Shape):
    metadata: Metadata
    status: PodStatus = PodStatus()


class ListMetadata(_Shape):
    rest: Text = Field(default="", alias="continue")


class NodeList(_Shape):
    metadata: ListMetadata = ListMetadata()
    items: Annotated[list[NodeShape], BeforeValidator(_no_items)] = Field(default_factory=list[NodeShape])


class EventList(_Shape):
    metadata: ListMetadata = ListMetadata()
    items: Annotated[list[EventShape], BeforeValidator(_no_items)] = Field(default_factory=list[EventShape])


class PodList(_Shape):
    metadata: ListMetadata = ListMetadata()
    items: Annotated[list[PodShape], BeforeValidator(_no_items)] = Field(default_factory=list[PodShape])


class CaptureCompleted(_Shape):
    reason: Text = ""
    message: Text = ""
    finished_at: datetime | None = None


class CaptureState(_Shape):
    running: dict[str, Any] | None = None
    completed: CaptureCompleted | None = None


class CaptureStatus(_Shape):
    type: str
    state: CaptureState


class DiagnosticStatus(_Shape):
    capture_statuses: Annotated[list[CaptureStatus], BeforeValidator(_no_items)] = Field(
        default_factory=list[CaptureStatus]
    )


class DiagnosticShape(_Shape):
    metadata: Metadata
    status: DiagnosticStatus = DiagnosticStatus()
