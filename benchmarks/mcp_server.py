"""What the MCP server costs: starting it, a call through it, redacting what leaves. `python -m benchmarks.mcp_server`.

Times of a busy machine mean little, so starting is also given in seconds of CPU.
"""

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mcp import Client, StdioServerParameters

from affidavit.redaction.redact import Redactor

NODE = "i-0f3a9c1d7e5b24680"
CALLS = 200
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
}
LINE = "Jan 01 00:00:00 ip-10-0-1-2 kubelet[1234]: I0101 pod_workers.go:965] Error syncing pod, skipping\n"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        sample = [sys.executable, "-m", "affidavit", "sample", "--faults", "oom,cni_failure", "--out", folder]
        subprocess.run(sample, check=True, capture_output=True)
        _report_start(Path(folder))
        asyncio.run(_report_calls(Path(folder)))
    _report_redaction()


def _server(folder: Path) -> list[str]:
    return ["-m", "affidavit", "mcp", "--bundles", str(folder)]


def _report_start(folder: Path) -> None:
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *_server(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps(HELLO) + "\n")
    process.stdin.flush()
    process.stdout.readline()
    seconds = time.perf_counter() - started
    process.stdin.close()
    process.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"start to first answer   {seconds:6.2f} s, {cpu:.2f} s of CPU")


async def _report_calls(folder: Path) -> None:
    async with Client(StdioServerParameters(command=sys.executable, args=_server(folder))) as client:
        await client.call_tool("errors", {"instanceId": NODE})
        for tool, arguments in (
            ("errors", {"instanceId": NODE}),
            ("errors", {"instanceId": NODE, "response_format": "concise"}),
            ("search", {"instanceId": NODE, "query": "(?i)killed process"}),
        ):
            times: list[float] = []
            for _ in range(CALLS):
                started = time.perf_counter()
                await client.call_tool(tool, arguments)
                times.append((time.perf_counter() - started) * 1000)
            p95 = statistics.quantiles(times, n=20)[-1]
            said = arguments.get("response_format", "")
            print(f"{tool + ' ' + said:<24}{statistics.median(times):6.1f} ms median, {p95:.1f} ms p95, {CALLS} calls")


def _report_redaction() -> None:
    text = LINE * 100_000
    for name, redactor in (("secrets", Redactor()), ("and personal data", Redactor(hides_personal=True))):
        redactor.redact("warm")
        started = time.perf_counter()
        redactor.redact(text)
        print(f"redaction, {name:<13}{len(text) / (time.perf_counter() - started) / 1e6:8.0f} MB/s")


if __name__ == "__main__":
    main()
