"""OTLP exporters for spans and metrics. Imported only when the extra `telemetry` is wanted and installed."""

from collections.abc import Callable

from opentelemetry import metrics, trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


def install(*, sends_spans: bool, sends_metrics: bool) -> Callable[[int], None]:
    """Sends what is left, within so many milliseconds each; for a process that is about to end."""
    resource = Resource.create({"service.name": "affidavit"})
    flushes: list[Callable[[int], bool]] = []
    if sends_spans:
        spans = TracerProvider(resource=resource)
        spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(spans)
        flushes.append(spans.force_flush)
    if sends_metrics:
        reader = PeriodicExportingMetricReader(OTLPMetricExporter())
        meters = MeterProvider(resource=resource, metric_readers=[reader])
        metrics.set_meter_provider(meters)
        flushes.append(meters.force_flush)
    return lambda milliseconds: [flush(milliseconds) for flush in flushes].clear()
