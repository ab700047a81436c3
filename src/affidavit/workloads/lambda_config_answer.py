"""How a function is set up. Values of environment variables never enter: only their names."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from affidavit.ports.json import Item
from affidavit.ports.workload_inspector import WorkloadInspector
from affidavit.workloads.partial_answers import Parts
from affidavit.workloads.wire import FunctionMetrics, LambdaConfigResponse, VpcMembership, Window, iso

METRICS_WINDOW = timedelta(hours=1)


class _Environment(BaseModel):
    model_config = ConfigDict(extra="ignore")

    Variables: Mapping[str, JsonValue] = Field(default_factory=dict[str, JsonValue], repr=False)
    Error: Mapping[str, JsonValue] | None = None


class _Layer(BaseModel):
    model_config = ConfigDict(extra="ignore")

    Arn: str


class _LoggingConfig(BaseModel):
    model_config = ConfigDict(extra="ignore")

    LogGroup: str | None = None


class _Target(BaseModel):
    model_config = ConfigDict(extra="ignore")

    TargetArn: str | None = None


class _Storage(BaseModel):
    model_config = ConfigDict(extra="ignore")

    Size: int | None = None


class _Destination(BaseModel):
    model_config = ConfigDict(extra="ignore")

    Destination: str | None = None


class _Destinations(BaseModel):
    model_config = ConfigDict(extra="ignore")

    OnSuccess: _Destination = _Destination()
    OnFailure: _Destination = _Destination()


class _InvokeSettings(BaseModel):
    model_config = ConfigDict(extra="ignore")

    MaximumRetryAttempts: int | None = None
    DestinationConfig: _Destinations = _Destinations()


class _Function(BaseModel):
    """The nested parts of GetFunctionConfiguration, which the answer flattens."""

    model_config = ConfigDict(extra="ignore")

    Environment: _Environment = _Environment()
    Layers: list[_Layer] = Field(default_factory=list[_Layer])
    LoggingConfig: _LoggingConfig = _LoggingConfig()
    DeadLetterConfig: _Target = _Target()
    VpcConfig: VpcMembership | None = None
    EphemeralStorage: _Storage = _Storage()


class _Limits(BaseModel):
    model_config = ConfigDict(extra="ignore")

    ConcurrentExecutions: int | None = None
    UnreservedConcurrentExecutions: int | None = None


@dataclass(frozen=True, kw_only=True)
class _Measure:
    field: str
    metric: str
    statistic: str
    is_of_account: bool = False


MEASURES = (
    _Measure(field="invocations", metric="Invocations", statistic="Sum"),
    _Measure(field="errors", metric="Errors", statistic="Sum"),
    _Measure(field="throttles", metric="Throttles", statistic="Sum"),
    _Measure(field="max_duration_ms", metric="Duration", statistic="Maximum"),
    _Measure(field="max_concurrent_executions", metric="ConcurrentExecutions", statistic="Maximum"),
    _Measure(field="dead_letter_errors", metric="DeadLetterErrors", statistic="Sum"),
    _Measure(field="destination_delivery_failures", metric="DestinationDeliveryFailures", statistic="Sum"),
    _Measure(field="async_events_dropped", metric="AsyncEventsDropped", statistic="Sum"),
    _Measure(field="max_async_event_age_ms", metric="AsyncEventAge", statistic="Maximum"),
    _Measure(field="max_iterator_age_ms", metric="IteratorAge", statistic="Maximum"),
    _Measure(field="max_offset_lag", metric="OffsetLag", statistic="Maximum"),
    _Measure(
        field="provisioned_concurrency_spillovers",
        metric="ProvisionedConcurrencySpilloverInvocations",
        statistic="Sum",
    ),
    _Measure(field="max_post_runtime_extensions_ms", metric="PostRuntimeExtensionsDuration", statistic="Maximum"),
    _Measure(field="max_provisioned_utilization", metric="ProvisionedConcurrencyUtilization", statistic="Maximum"),
    _Measure(field="recursive_invocations_dropped", metric="RecursiveInvocationsDropped", statistic="Sum"),
    _Measure(
        field="account_max_claimed_concurrency",
        metric="ClaimedAccountConcurrency",
        statistic="Maximum",
        is_of_account=True,
    ),
    _Measure(
        field="account_max_concurrent_executions",
        metric="ConcurrentExecutions",
        statistic="Maximum",
        is_of_account=True,
    ),
)
FLATTENED = frozenset(_Function.model_fields)


def lambda_config(inspector: WorkloadInspector, name: str, *, now: datetime) -> LambdaConfigResponse:
    """Raises NotFound when there is no such function."""
    function = inspector.function(name)
    parts = Parts()
    limits = parts.read("limits of the account", lambda: _Limits.model_validate(inspector.account_limits()))
    reserved = parts.read("reserved concurrency", lambda: inspector.reserved_concurrency(name))
    metrics = parts.read("metrics", lambda: _metrics(inspector, name, now=now))
    sources = parts.read("event sources", lambda: inspector.event_sources(name))
    aliases = parts.read("aliases", lambda: inspector.aliases(name))
    settings = parts.read("settings of asynchronous calls", lambda: _invoke_settings(inspector, name))
    return LambdaConfigResponse.model_validate(
        {key: value for key, value in function.items() if key not in FLATTENED and value != ""}
        | _flattened(function)
        | {
            "ReservedConcurrentExecutions": reserved,
            "AccountConcurrencyLimit": limits and limits.ConcurrentExecutions,
            "AccountUnreservedConcurrency": limits and limits.UnreservedConcurrentExecutions,
            "Metrics": metrics,
            "EventSources": sources or [],
            "Aliases": aliases or [],
            **(settings or {}),
            "not_read": parts.not_read,
        }
    )


def _invoke_settings(inspector: WorkloadInspector, name: str) -> dict[str, object]:
    settings = _InvokeSettings.model_validate(inspector.invoke_settings(name) or {})
    return {
        "MaximumRetryAttempts": settings.MaximumRetryAttempts,
        "OnSuccess": settings.DestinationConfig.OnSuccess.Destination,
        "OnFailure": settings.DestinationConfig.OnFailure.Destination,
    }


def _flattened(function: Item) -> dict[str, object]:
    nested = _Function.model_validate(function)
    in_vpc = nested.VpcConfig is not None and nested.VpcConfig.SubnetIds
    return {
        "EnvironmentVariableNames": sorted(nested.Environment.Variables),
        "EnvironmentError": _error_text(nested.Environment.Error),
        "Layers": [layer.Arn for layer in nested.Layers],
        "LogGroup": nested.LoggingConfig.LogGroup,
        "DeadLetterTarget": nested.DeadLetterConfig.TargetArn,
        "EphemeralStorageMB": nested.EphemeralStorage.Size,
        "VpcConfig": nested.VpcConfig if in_vpc else None,
    }


def _error_text(error: Mapping[str, JsonValue] | None) -> str | None:
    return None if error is None else f"{error.get('ErrorCode')}: {error.get('Message')}"


def _metrics(inspector: WorkloadInspector, name: str, *, now: datetime) -> FunctionMetrics:
    start, end = (int(moment.timestamp() * 1000) for moment in (now - METRICS_WINDOW, now))
    numbers = {
        measure.field: inspector.metric(
            measure.metric,
            function=None if measure.is_of_account else name,
            statistic=measure.statistic,
            start=start,
            end=end,
        )
        for measure in MEASURES
    }
    return FunctionMetrics.model_validate(numbers | {"window": Window(start=iso(start), end=iso(end))})
