"""Spans and metrics of tool calls. They cost next to nothing without an SDK; in Lambda they are EMF lines.

`tool.time_to_first_finding` is the time of the call when it found anything: answers leave whole, so the first finding
is seen when the call ends.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Final

from opentelemetry import metrics, trace

from affidavit.ports.json import JsonValue

NAMESPACE: Final = "Affidavit"
_SCOPE: Final = "affidavit"
_UNITS: Final = {
    "tool.latency": "Milliseconds",
    "tool.success_rate": "None",
    "tool.bytes_scanned": "Bytes",
    "tool.files_scanned": "Count",
    "tool.time_to_first_finding": "Milliseconds",
    "tool.findings_count": "Count",
}
_flushes: Final[list[Callable[[int], None]]] = []
_FINDINGS: Final = ("findings", "results", "timeline", "top_findings", "events")


class ToolCall:
    """What one call did, noted while it runs."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span
        self._started = time.perf_counter()
        self._is_success = True
        self._seen: dict[str, float] = {}

    def failed(self) -> None:
        self._is_success = False

    def answered(self, answer: Mapping[str, JsonValue]) -> None:
        lists = [value for name in _FINDINGS if isinstance(value := answer.get(name), list)]
        self._seen["tool.findings_count"] = len(lists[0]) if lists else 0
        coverage = answer.get("coverage_report")
        if isinstance(coverage, Mapping):
            self._seen["tool.bytes_scanned"] = _number(coverage.get("bytes_scanned"))
            self._seen["tool.files_scanned"] = _number(coverage.get("files_scanned"))

    def values(self) -> dict[str, float]:
        latency = (time.perf_counter() - self._started) * 1000
        values = {"tool.latency": latency, "tool.success_rate": float(self._is_success), **self._seen}
        if self._seen.get("tool.findings_count"):
            values["tool.time_to_first_finding"] = latency
        return values

    def close(self, tool: str) -> None:
        values = self.values()
        if self._span.is_recording():
            self._span.set_attributes(
                {
                    "affidavit.success": self._is_success,
                    "affidavit.files": int(values.get("tool.files_scanned", 0)),
                    "affidavit.bytes": int(values.get("tool.bytes_scanned", 0)),
                    "affidavit.findings": int(values.get("tool.findings_count", 0)),
                }
            )
        for name, value in values.items():
            _instrument(name).record(value, {"tool": tool})
        if "AWS_LAMBDA_FUNCTION_NAME" in os.environ:
            sys.stdout.write(emf_line(tool, values, at=time.time()) + "\n")


@contextmanager
def tool_call(tool: str, instance: str | None) -> Generator[ToolCall]:
    attributes = {"affidavit.tool": tool} | ({"affidavit.instance": instance} if instance else {})
    with _tracer().start_as_current_span(f"tool {tool}", attributes=attributes) as span:
        call = ToolCall(span)
        try:
            yield call
        finally:
            call.close(tool)


def emf_line(tool: str, values: Mapping[str, float], *, at: float) -> str:
    """One line of CloudWatch's embedded metric format."""
    listed = [{"Name": name, "Unit": _UNITS[name]} for name in values]
    directive = {"Namespace": NAMESPACE, "Dimensions": [["tool"]], "Metrics": listed}
    return json.dumps({"_aws": {"Timestamp": int(at * 1000), "CloudWatchMetrics": [directive]}, "tool": tool, **values})


def start_exporting() -> bool:
    """Send spans and metrics where the OTEL_* variables say; False when they say nothing or no SDK is installed."""
    is_all = "OTEL_EXPORTER_OTLP_ENDPOINT" in os.environ
    sends_spans = is_all or "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" in os.environ
    sends_metrics = is_all or "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT" in os.environ
    if not sends_spans and not sends_metrics:
        return False
    try:
        from affidavit.telemetry_export import install
    except ImportError:
        return False
    _flushes.append(install(sends_spans=sends_spans, sends_metrics=sends_metrics))
    return True


def flush(milliseconds: int = 2_000) -> None:
    """Send what has not been sent yet. A receiver that does not answer holds nobody up for longer."""
    for each in _flushes:
        each(milliseconds)


def _number(value: JsonValue) -> float:
    return value if isinstance(value, int | float) else 0


@cache
def _tracer() -> trace.Tracer:
    return trace.get_tracer(_SCOPE)


@cache
def _instrument(name: str) -> metrics.Histogram:
    return metrics.get_meter(_SCOPE).create_histogram(name, unit=_UNITS[name])
