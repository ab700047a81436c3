"""`make clients`: the server with MCP clients from elsewhere, as real processes over stdio and HTTP.

Installs pinned clients into build/clients; needs Node 20, npm and the package registries. About four minutes the
first time, one minute after that.
"""

import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
BUILD = Path("build/clients").absolute()
NODE = "i-0f3a9c1d7e5b24680"
# By environment: the SDK of one does not go with the other's.
PACKAGES = {
    "modern": ["fastmcp==4.1.2"],
    "older": ["mcp==1.30.0", "langchain-mcp-adapters==0.3.2"],
}
# What a client that checks nothing itself has to print.
PRINTED = {
    "Inspector, HTTP": '"quick_triage"',
    "Inspector, stdio": "F-001",
    "Inspector, an error": "check the instance id",
}


def main() -> int:
    _install()
    folder = BUILD / "bundles"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    sample = [sys.executable, "-m", "affidavit", "sample", "--out", str(folder)]
    subprocess.run(sample, check=True, stdout=subprocess.DEVNULL)
    with _served(folder) as environment:
        failed = [name for name, command in _clients(environment).items() if not _tried(name, command, environment)]
    print(f"failed: {', '.join(failed)}" if failed else "every client lists, calls and reads errors")
    return 1 if failed else 0


def _install() -> None:
    BUILD.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "check.mjs", "typescript_v1.mjs", "typescript_v2.mjs", "with_key.mjs"):
        shutil.copy(HERE / name, BUILD / name)
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent"], cwd=BUILD, check=True)
    for name, packages in PACKAGES.items():
        python = BUILD / name / "bin" / "python"
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(BUILD / name)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], check=True)


def _clients(environment: dict[str, str]) -> dict[str, list[str]]:
    inspector = [str(BUILD / "node_modules/.bin/mcp-inspector"), "--cli"]
    bearer = f"Authorization: Bearer {environment['KEY']}"
    by_http = [environment["URL_OF_SERVER"], "--transport", "http", "--header", bearer]
    by_stdio = [environment["SERVER"], "-m", "affidavit", "mcp", "--bundles", environment["FOLDER"]]
    call = ["--method", "tools/call", "--tool-name", "errors"]

    def asked(node: str) -> list[str]:
        return ["--tool-arg", f"instanceId={node}"]

    return {
        "TypeScript SDK 1.x": ["node", str(BUILD / "typescript_v1.mjs")],
        "TypeScript client 2.x": ["node", str(BUILD / "typescript_v2.mjs")],
        "Inspector, HTTP": [*inspector, *by_http, "--method", "tools/list"],
        "Inspector, stdio": [*inspector, *by_stdio, *call, *asked(NODE)],
        "Inspector, an error": [*inspector, *by_http, *call, *asked("i-00000000")],
        "fastmcp": [str(BUILD / "modern/bin/python"), str(HERE / "python_fastmcp.py")],
        "mcp 1.x and langchain-mcp-adapters": [str(BUILD / "older/bin/python"), str(HERE / "python_mcp_v1.py")],
        "conformance suite": [sys.executable, str(HERE / "conformance.py")],
    }


def _tried(name: str, command: list[str], environment: dict[str, str]) -> bool:
    try:
        done = subprocess.run(
            command, env={**os.environ, **environment}, cwd=BUILD, capture_output=True, text=True, timeout=120
        )
    except subprocess.TimeoutExpired:
        print(f"{name}: no answer within two minutes")
        return False
    printed = PRINTED.get(name)
    is_fine = done.returncode == 0 if printed is None else printed in done.stdout + done.stderr
    print(f"{name}: {'ok' if is_fine else 'FAILED'}")
    if not is_fine:
        print(f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return is_fine


@contextmanager
def _served(folder: Path) -> Iterator[dict[str, str]]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    key = secrets.token_urlsafe(32)
    command = [sys.executable, "-m", "affidavit", "mcp", "--http", "--port", str(port), "--bundles", str(folder)]
    server = subprocess.Popen(command, env={**os.environ, "MCP_API_KEY": key}, stderr=subprocess.DEVNULL)
    try:
        _wait_for(f"http://127.0.0.1:{port}/health", server)
        url = f"http://127.0.0.1:{port}/mcp"
        yield {"SERVER": sys.executable, "FOLDER": str(folder), "URL_OF_SERVER": url, "KEY": key, "NODE": NODE}
    finally:
        server.terminate()
        server.wait(timeout=30)


def _wait_for(url: str, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 60
    while server.poll() is None and time.monotonic() < deadline:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the server did not start")


if __name__ == "__main__":
    sys.exit(main())
