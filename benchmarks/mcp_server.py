"""What the MCP server costs: starting, a call, a search, redacting what leaves. `python -m benchmarks.mcp_server`.

Times of a busy machine mean little, so searches are compared in seconds of CPU too. Words behind the command choose
parts: start, stdio, http, hostile, redaction, search.
"""

import http.client
import json
import os
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from affidavit.knowledge import load_knowledge
from affidavit.nodes.search.queries import compile_query
from affidavit.nodes.search.scanning import scan_files
from affidavit.redaction.redact import Redactor
from benchmarks.bundles import big_bundle, hundred_patterns
from benchmarks.peers import RIPGREP

NODE = "i-0f3a9c1d7e5b24680"
KEY = "a-key-for-measuring-0123456789"
MEGABYTES = 500
CALLS = {"errors": 200, "search": 20, "read": 200}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
}
LINE = "Jan 01 00:00:00 ip-10-0-1-2 kubelet[1234]: I0101 pod_workers.go:965] Error syncing pod, skipping\n"


QUERIES = {
    "rare, any case": "(?i)nf_conntrack: table full",
    "rare": "nf_conntrack: table full",
    "fields": r'pod="[^"]*".*latency=\d+',
    "levels": "level=(error|warning)",
    "digits": r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{9}",
    "words": "(oom|evict|panic|corrupt|unreachable)",
    "nested": "(a+)+$",
}
ROUNDS = 5
# What makes a backtracking engine run for years. Ours takes time that grows with the file alone.
HOSTILE = {
    "nested": "(a+)+$",
    "nested choice": "(a|aa)+$",
    "nested class": r"([a-z]+)*\d",
    "twice": "(x+x+)+y",
    "any, then one": "(.*a){12}$",
    "any, many times": ".*.*.*.*=.*",
    "counted": "(a?){50}a{50}",
    "words": r"^(\w+\s?)*$",
    "large": r"(?:\w{1,40}\s){20}x",
}
HOSTILE_SECONDS = 1.0
HOSTILE_BYTES = 20 << 20
PARTS = ("start", "stdio", "http", "hostile", "redaction", "search")


def main() -> None:
    wanted = sys.argv[1:] or PARTS
    if "start" in wanted:
        with tempfile.TemporaryDirectory() as folder:
            sample = [sys.executable, "-m", "affidavit", "sample", "--faults", "oom,cni_failure", "--out", folder]
            subprocess.run(sample, check=True, capture_output=True)
            _report_start(Path(folder))
    if {"stdio", "http"} & set(wanted):
        with tempfile.TemporaryDirectory() as folder:
            archive = big_bundle(hundred_patterns(load_knowledge().pack), MEGABYTES, 0.001).archive
            shutil.copy(archive, Path(folder) / f"eks_{NODE}_2026-01-15_1030-UTC_0.7.9.tar.gz")
            _report_calls(Path(folder), {"stdio": _Talk, "http": _HttpTalk}, wanted)
    reports = {"hostile": _report_hostile, "redaction": _report_redaction, "search": _report_search}
    for name, report in reports.items():
        if name in wanted:
            report()


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


def _report_calls(folder: Path, talks: "dict[str, type[_Talk]]", wanted: Sequence[str]) -> None:
    """On a bundle of 500 MB, which the first server indexes before its first answer; the second finds it indexed.

    From the request's first byte to the answer's last: what a client then does with it is the client's.
    """
    for name in wanted:
        if name in talks:
            with talks[name](folder) as talk:
                _report_talk(name, talk)


def _report_talk(name: str, talk: "_Talk") -> None:
    started = time.perf_counter()
    files = json.loads(talk.call("list_bundle_files", {"instanceId": NODE}))["result"]["structuredContent"]["files"]
    print(f"{name}: first answer, {MEGABYTES} MB {time.perf_counter() - started:6.2f} s")
    largest = max(files, key=lambda file: file["size_bytes"])
    middle = min(200_000, largest["size_bytes"] // 1000)
    for tool, arguments in (
        ("errors", {"instanceId": NODE}),
        ("errors", {"instanceId": NODE, "response_format": "concise"}),
        ("search", {"instanceId": NODE, "query": "(?i)nf_conntrack: table full"}),
        ("read", {"logKey": largest["key"], "startLine": middle, "lineCount": 100}),
    ):
        talk.call(tool, arguments)
        times = [talk.timed(tool, arguments) * 1000 for _ in range(CALLS[tool])]
        p95 = statistics.quantiles(times, n=20)[-1]
        said = f"{name}: {tool} {arguments.get('response_format', '')}"
        rate = 1000 * len(times) / sum(times)
        print(f"{said:<24}{statistics.median(times):6.1f} ms median, {p95:.1f} ms p95, {rate:.0f} a second")


class _Talk:
    """A client that says what it must and keeps what it hears."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *_server(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._number = 1

    def __enter__(self) -> "_Talk":
        self._say(HELLO)
        self._hear()
        self._say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    def call(self, tool: str, arguments: dict[str, object]) -> str:
        self._number += 1
        params = {"name": tool, "arguments": arguments}
        self._say({"jsonrpc": "2.0", "id": self._number, "method": "tools/call", "params": params})
        while f'"id":{self._number},' not in (answer := self._hear())[:200] + ",":
            pass
        if '"isError":true' in answer:
            raise AssertionError(f"{tool}: {answer[:500]}")
        return answer

    def timed(self, tool: str, arguments: dict[str, object]) -> float:
        started = time.perf_counter()
        self.call(tool, arguments)
        return time.perf_counter() - started

    def _say(self, message: dict[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _hear(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


class _HttpTalk(_Talk):
    """The same over Streamable HTTP, on one connection that stays open."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port: int = probe.getsockname()[1]
        self._process = subprocess.Popen(
            [sys.executable, *_server(folder), "--http", "--port", str(self._port)],
            env={**os.environ, "MCP_API_KEY": KEY},
            stderr=subprocess.DEVNULL,
        )
        self._number = 1
        self._headers = {
            "Authorization": f"Bearer {KEY}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=600)
        self._body = b""

    def __enter__(self) -> "_HttpTalk":
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                self._connection.connect()
                break
            except ConnectionRefusedError:
                time.sleep(0.05)
        super().__enter__()
        return self

    def _say(self, message: dict[str, object]) -> None:
        self._connection.request("POST", "/mcp", json.dumps(message), self._headers)
        response = self._connection.getresponse()
        if response.headers.get("mcp-session-id"):
            self._headers["mcp-session-id"] = response.headers["mcp-session-id"]
        self._body = response.read()

    def _hear(self) -> str:
        """The event that carries the answer."""
        lines = self._body.decode().splitlines()
        return next(line.removeprefix("data: ") for line in reversed(lines) if line.startswith("data: {"))


def _report_hostile() -> None:
    """Patterns that were made to run long, on lines that were made for them. A second each is what is promised."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "hostile.log"
        line = b"a" * 4000 + b" " + b"ab cd " * 50 + b"!\n"
        file.write_bytes(line * (HOSTILE_BYTES // len(line)))
        for name, text in HOSTILE.items():
            query = compile_query(text)
            seconds = _measured(resource.RUSAGE_SELF, lambda query=query: scan_files(query, [file], 100))[0]
            said = "" if seconds <= HOSTILE_SECONDS else f"  LONGER than {HOSTILE_SECONDS:.0f} s"
            print(f"hostile, {name:<15}{seconds:6.2f} s for {file.stat().st_size / 1e6:.0f} MB{said}")


def _report_redaction() -> None:
    text = LINE * 100_000
    for name, redactor in (("secrets", Redactor()), ("and personal data", Redactor(hides_personal=True))):
        redactor.redact("warm")
        started = time.perf_counter()
        redactor.redact(text)
        print(f"redaction, {name:<13}{len(text) / (time.perf_counter() - started) / 1e6:8.0f} MB/s")


def _report_search() -> None:
    """Against ripgrep with two threads, which prints every line; ours counts all and locates a hundred of each file."""
    folder = big_bundle(hundred_patterns(load_knowledge().pack), MEGABYTES, 0.001).folder
    files = [path for path in folder.rglob("*") if path.is_file()]
    by_clock: list[float] = []
    by_cpu: list[float] = []
    for name, text in QUERIES.items():
        query = compile_query(text)
        peer = [RIPGREP, "-j2", "--no-unicode", "-a", "-n", "-b", "--no-messages", "-e", text, str(folder)]
        pairs = [
            (
                _measured(resource.RUSAGE_SELF, lambda query=query: scan_files(query, files, 100)),
                _measured(resource.RUSAGE_CHILDREN, lambda peer=peer: _printed(peer)),
            )
            for _ in range(ROUNDS)
        ]
        by_clock.append(statistics.median(theirs[0] / ours[0] for ours, theirs in pairs))
        by_cpu.append(statistics.median(theirs[1] / ours[1] for ours, theirs in pairs))
        print(f"search, {name:<16}{by_clock[-1]:6.2f} x rg by the clock, {by_cpu[-1]:.2f} x by CPU")
    for name, ratios in (("the clock", by_clock), ("CPU", by_cpu)):
        mean = statistics.geometric_mean(ratios)
        print(f"search, all together    {mean:6.2f} x rg by {name}, worst {min(ratios):.2f}")


def _printed(command: list[str]) -> None:
    # To a pipe: with /dev/null as its output ripgrep stops at the first match.
    subprocess.run(command, stdout=subprocess.PIPE, check=False)


def _measured(who: int, work: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock and of CPU."""
    before, started = resource.getrusage(who), time.perf_counter()
    work()
    seconds, after = time.perf_counter() - started, resource.getrusage(who)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
