"""A real server of ours sends its spans and metrics to a real OTLP/HTTP receiver of ours."""

import gzip
import os
import signal
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tests.support.knowledge.libraries import INSTANCE, an_archive
from tests.support.peers.mcp_client import over_stdio, wait_until

SIX = {
    "tool.latency",
    "tool.success_rate",
    "tool.bytes_scanned",
    "tool.files_scanned",
    "tool.time_to_first_finding",
    "tool.findings_count",
}
LOG = b"Jan 15 10:30:00 ip-10-0-0-1 kernel: Out of memory: Killed process 4242 (java) total-vm:1kB\n" * 3


SLOW = {"OTEL_BSP_SCHEDULE_DELAY": "60000", "OTEL_METRIC_EXPORT_INTERVAL": "60000"}


class Receiver:
    def __init__(self) -> None:
        self.spans: list[dict[str, Any]] = []
        self.metrics: dict[str, dict[str, float]] = defaultdict(dict)
        self.services: set[str] = set()
        self.paths: set[str] = set()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                receiver.take(self.path, body)
                self.send_response(200)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    @property
    def calls(self) -> list[dict[str, Any]]:
        """Our own spans; the library of the protocol has others."""
        return [span for span in self.spans if span["name"].startswith("tool ")]

    def take(self, path: str, body: bytes) -> None:
        self.paths.add(path)
        if path == "/v1/traces":
            self._take_spans(ExportTraceServiceRequest.FromString(body))
        elif path == "/v1/metrics":
            self._take_metrics(ExportMetricsServiceRequest.FromString(body))

    def _take_spans(self, sent: ExportTraceServiceRequest) -> None:
        for resource in sent.resource_spans:
            self.services.add(_attributes(resource.resource)["service.name"])
            for scope in resource.scope_spans:
                self.spans += [{"name": span.name, **_attributes(span)} for span in scope.spans]

    def _take_metrics(self, sent: ExportMetricsServiceRequest) -> None:
        for resource in sent.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    for point in metric.histogram.data_points:
                        self.metrics[_attributes(point)["tool"]][metric.name] = point.sum


def _attributes(thing: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in thing.attributes}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.server.shutdown()
    receiver.server.server_close()


def environment(receiver: Receiver, **more: str) -> dict[str, str]:
    quick = {"OTEL_BSP_SCHEDULE_DELAY": "50", "OTEL_METRIC_EXPORT_INTERVAL": "100"}
    return {"LOGS_BUCKET": "", "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, **quick, **more}


def test_every_call_is_a_span_and_six_metrics_at_the_receiver(receiver: Receiver, tmp_path: Path) -> None:
    an_archive(tmp_path, {"var_log/messages": LOG, "kernel/dmesg.current": LOG})
    with over_stdio(("--bundles", str(tmp_path)), environment(receiver)) as talk:
        found = talk.ask("errors", instanceId=INSTANCE)
        talk.refused("errors", instanceId="i-0dead0000000000ff")
        talk.ask("search", instanceId=INSTANCE, query="Killed")
        wait_until(lambda: len(receiver.calls) >= 3 and "search" in receiver.metrics)

    assert receiver.services == {"affidavit"}
    assert sorted(span["name"] for span in receiver.calls) == ["tool errors", "tool errors", "tool search"]
    good, bad = sorted(
        (s for s in receiver.calls if s["name"] == "tool errors"), key=lambda s: not s["affidavit.success"]
    )
    coverage = found["coverage_report"]
    assert good == {
        "name": "tool errors",
        "affidavit.tool": "errors",
        "affidavit.instance": INSTANCE,
        "affidavit.success": True,
        "affidavit.files": coverage["files_scanned"],
        "affidavit.bytes": coverage["bytes_scanned"],
        "affidavit.findings": len(found["findings"]),
    }
    assert bad["affidavit.success"] is False and bad["affidavit.instance"] == "i-0dead0000000000ff"
    assert set(receiver.metrics["errors"]) == SIX == set(receiver.metrics["search"])
    # Two calls, of which one did well.
    assert receiver.metrics["errors"]["tool.success_rate"] == 1.0
    assert receiver.metrics["errors"]["tool.bytes_scanned"] == coverage["bytes_scanned"]
    assert receiver.metrics["errors"]["tool.latency"] > 0


def test_a_server_that_is_told_to_stop_sends_first(receiver: Receiver, tmp_path: Path) -> None:
    an_archive(tmp_path, {"var_log/messages": LOG})
    command = [sys.executable, "-m", "affidavit", "mcp", "--bundles", str(tmp_path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **environment(receiver, **SLOW)}
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        for line in (HELLO, ASK):
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    assert [span["name"] for span in receiver.calls] == ["tool errors"]
    assert set(receiver.metrics["errors"]) == SIX


def test_spans_alone_are_sent_where_only_they_are_wanted_the_last_ones_at_the_end(
    receiver: Receiver, tmp_path: Path
) -> None:
    an_archive(tmp_path, {"var_log/messages": LOG})
    alone = environment(receiver, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=f"{receiver.url}/v1/traces", **SLOW)
    del alone["OTEL_EXPORTER_OTLP_ENDPOINT"]
    with over_stdio(("--bundles", str(tmp_path)), alone) as talk:
        talk.ask("errors", instanceId=INSTANCE)
        assert receiver.calls == []
    wait_until(lambda: bool(receiver.calls))
    assert receiver.paths == {"/v1/traces"}


HELLO = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
    b'"clientInfo":{"name":"raw","version":"1"}}}\n'
)
ASK = (
    b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"errors","arguments":{"instanceId":"'
    + INSTANCE.encode()
    + b'"}}}\n'
)
