"""The shapes alerts come in, as their senders write them. `alert_meaning` decides what they mean."""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else str(value))]


class _Shape(BaseModel):
    # Built when first used: one alert has one of these shapes.
    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True, defer_build=True)


class SnsBody(_Shape):
    message_id: str = Field(alias="MessageId")
    message: str = Field(alias="Message")
    timestamp: Text = Field("", alias="Timestamp")
    topic_arn: Text = Field("", alias="TopicArn")


class SnsRecord(_Shape):
    """One element of `Records` in the event that SNS hands to a Lambda function."""

    sns: SnsBody = Field(alias="Sns")


class _Report(_Shape):
    """What somebody publishes about a failure, whatever it is of."""

    incident_id: Text = Field("", validation_alias=AliasChoices("incident_id", "incidentId"))
    error_type: Text = Field("", validation_alias=AliasChoices("error_type", "errorType"))
    message: Text = Field(
        "", validation_alias=AliasChoices("error_message", "errorMessage", "error", "message", "reason")
    )
    timestamp: Text = Field("", validation_alias=AliasChoices("timestamp", "time", "occurred_at"))
    account: Text = Field("", validation_alias=AliasChoices("account", "account_id", "accountId"))
    region: Text = Field("", validation_alias=AliasChoices("region", "aws_region"))


class FailureReport(_Report):
    """What a workload publishes about itself. Spellings differ between teams; the function's name is needed."""

    function: Text = Field(
        validation_alias=AliasChoices("function_name", "lambda_name", "functionName", "FunctionName", "function")
    )


class AlarmNotice(_Shape):
    """A CloudWatch alarm as SNS carries it. `Region` is a name for people; the ARN has the code."""

    name: str = Field(alias="AlarmName")
    new_state: str = Field(alias="NewStateValue")
    arn: Text = Field("", alias="AlarmArn")
    reason: Text = Field("", alias="NewStateReason")
    changed_at: Text = Field("", alias="StateChangeTime")
    account: Text = Field("", alias="AWSAccountId")
    trigger: dict[str, Any] = Field(default_factory=dict[str, Any], alias="Trigger")


class BusEvent(_Shape):
    """An EventBridge event: an alarm's change of state, or a failed invocation."""

    detail_type: str = Field(alias="detail-type")
    source: Text = ""
    account: Text = ""
    region: Text = ""
    time: Text = ""
    resources: tuple[Text, ...] = ()
    detail: dict[str, Any] = Field(default_factory=dict[str, Any])


class RequestContext(_Shape):
    function_arn: str = Field(alias="functionArn")
    condition: Text = ""
    request_id: Text = Field("", alias="requestId")


class InvocationResult(_Shape):
    """What Lambda sends to an on-failure destination."""

    request_context: RequestContext = Field(alias="requestContext")
    timestamp: Text = ""
    response: dict[str, Any] | None = Field(None, alias="responsePayload")


class LifecycleDetail(_Shape):
    """Auto Scaling is about to end an instance and waits for somebody to complete the action."""

    instance: Text = Field(alias="EC2InstanceId")
    group: str = Field(alias="AutoScalingGroupName")
    hook: str = Field(alias="LifecycleHookName")
    token: str = Field(alias="LifecycleActionToken")


class _HealthEntity(_Shape):
    value: Text = Field("", alias="entityValue")


class _HealthText(_Shape):
    text: Text = Field("", alias="latestDescription")


class HealthDetail(_Shape):
    """What AWS Health tells of: `service` and the entities that it affects."""

    service: Text = ""
    code: Text = Field("", alias="eventTypeCode")
    affected: tuple[_HealthEntity, ...] = Field((), alias="affectedEntities")
    descriptions: tuple[_HealthText, ...] = Field((), alias="eventDescription")

    @property
    def entities(self) -> tuple[str, ...]:
        return tuple(entity.value for entity in self.affected)

    @property
    def says(self) -> str:
        return next((one.text for one in self.descriptions if one.text), self.code)


class _InvolvedObject(_Shape):
    name: Text


class KubernetesEvent(_Shape):
    """An event of the cluster, in either of the two versions of its API."""

    about: _InvolvedObject = Field(validation_alias=AliasChoices("involvedObject", "regarding"))
    type: Text = ""
    reason: Text = ""
    message: Text = Field("", validation_alias=AliasChoices("message", "note"))
    at: Text = Field("", validation_alias=AliasChoices("lastTimestamp", "eventTime", "deprecatedLastTimestamp"))
    cluster: Text = Field("", validation_alias=AliasChoices("cluster", "cluster_name", "clusterName"))


class AlertmanagerAlert(_Shape):
    """One alert of Alertmanager's webhook, version 4."""

    status: Text = "firing"
    labels: dict[str, Text] = Field(default_factory=dict[str, Text])
    annotations: dict[str, Text] = Field(default_factory=dict[str, Text])
    starts_at: Text = Field("", alias="startsAt")


class NodeReport(_Report):
    """What a person or a program reports about a node: by instance id, or by node name and cluster."""

    instance: Text = Field("", validation_alias=AliasChoices("instance_id", "instanceId", "InstanceId"))
    node_name: Text = Field("", validation_alias=AliasChoices("node_name", "nodeName", "NodeName", "node"))
    cluster: Text = Field("", validation_alias=AliasChoices("cluster", "cluster_name", "clusterName"))


def metrics(value: object) -> Iterator[str]:
    """Names of the metrics an alarm is over: `MetricName` where SNS carries it, `metric.name` on a bus."""
    if isinstance(value, dict):
        entries: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType] JSON has text keys
        if isinstance(entries.get("MetricName"), str):
            yield entries["MetricName"]
        metric: Any = entries.get("metric")
        if isinstance(metric, dict) and isinstance(metric.get("name"), str):  # pyright: ignore[reportUnknownMemberType] any JSON
            yield metric["name"]
        for inner in entries.values():
            yield from metrics(inner)
    elif isinstance(value, list):
        for inner in value:  # pyright: ignore[reportUnknownVariableType] any JSON
            yield from metrics(inner)  # pyright: ignore[reportUnknownArgumentType] any JSON


def dimensions(value: object, name: str) -> Iterator[str]:
    """Every value of a metric dimension, however deep: plain, composite and metric-math alarms nest differently."""
    if isinstance(value, dict):
        entries: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType] JSON has text keys
        if str(entries.get("name", entries.get("Name"))) == name:
            yield str(entries.get("value", entries.get("Value")))
        if isinstance(entries.get(name), str):
            yield entries[name]
        for inner in entries.values():
            yield from dimensions(inner, name)
    elif isinstance(value, list):
        for inner in value:  # pyright: ignore[reportUnknownVariableType] any JSON
            yield from dimensions(inner, name)  # pyright: ignore[reportUnknownArgumentType] any JSON
