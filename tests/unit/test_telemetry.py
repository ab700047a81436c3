import json

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from affidavit import telemetry
from affidavit.telemetry import emf_line, tool_call

ANSWER = {"findings": [{"a": 1}, {"a": 2}], "coverage_report": {"bytes_scanned": 500, "files_scanned": 7}}
SIX = {
    "tool.latency",
    "tool.success_rate",
    "tool.bytes_scanned",
    "tool.files_scanned",
    "tool.time_to_first_finding",
    "tool.findings_count",
}


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> tuple[InMemorySpanExporter, InMemoryMetricReader]:
    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    traces = TracerProvider()
    traces.add_span_processor(SimpleSpanProcessor(spans))
    meters = MeterProvider(metric_readers=[reader])
    monkeypatch.setattr(trace, "get_tracer", lambda name: traces.get_tracer(name))
    monkeypatch.setattr(metrics, "get_meter", lambda name: meters.get_meter(name))
    for cached in (telemetry._tracer, telemetry._instrument):
        cached.cache_clear()
    yield spans, reader
    for cached in (telemetry._tracer, telemetry._instrument):
        cached.cache_clear()


def values(reader: InMemoryMetricReader) -> dict[str, float]:
    (resource,) = reader.get_metrics_data().resource_metrics
    (scope,) = resource.scope_metrics
    return {metric.name: metric.data.data_points[0].sum for metric in scope.metrics}


def test_a_call_is_a_span_and_six_metrics(recorded: tuple[InMemorySpanExporter, InMemoryMetricReader]) -> None:
    spans, reader = recorded
    with tool_call("errors", "i-0123456789abcdef0") as call:
        call.answered(ANSWER)
    (span,) = spans.get_finished_spans()
    assert dict(span.attributes) == {
        "affidavit.tool": "errors",
        "affidavit.instance": "i-0123456789abcdef0",
        "affidavit.success": True,
        "affidavit.files": 7,
        "affidavit.bytes": 500,
        "affidavit.findings": 2,
    }
    measured = values(reader)
    assert set(measured) == SIX
    assert (measured["tool.findings_count"], measured["tool.success_rate"]) == (2, 1)


def test_a_failed_call_counts_against_the_success_rate(
    recorded: tuple[InMemorySpanExporter, InMemoryMetricReader],
) -> None:
    with tool_call("errors", None) as call:
        call.failed()
    measured = values(recorded[1])
    assert measured["tool.success_rate"] == 0
    assert "tool.time_to_first_finding" not in measured


def test_in_lambda_a_call_writes_one_line_of_metrics(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
    with tool_call("errors", None) as call:
        call.answered(ANSWER)
    (line,) = capsys.readouterr().out.splitlines()
    written = json.loads(line)
    listed = {metric["Name"] for metric in written["_aws"]["CloudWatchMetrics"][0]["Metrics"]}
    assert listed == SIX and written["tool"] == "errors" and written["tool.bytes_scanned"] == 500


def test_elsewhere_nothing_is_written(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("AWS_LAMBDA_FUNCTION_NAME", raising=False)
    with tool_call("errors", None):
        pass
    assert capsys.readouterr().out == ""


def test_a_line_names_its_moment_in_milliseconds() -> None:
    assert json.loads(emf_line("x", {"tool.latency": 1.5}, at=2.5))["_aws"]["Timestamp"] == 2500


def test_without_the_variables_nothing_is_exported(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    assert telemetry.start_exporting() is False
