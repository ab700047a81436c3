"""The official conformance suite against the HTTP server, in the protocol of 2025 and of 2026.

The suite needs Node 22: the one that npm brought is used where the installed one is older.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from affidavit.yaml_loading import load_yaml

HERE, BUILD = Path(__file__).parent, Path.cwd()
EXCUSED: dict[str, Any] = load_yaml((HERE / "conformance.yaml").read_text("utf-8"))
RUNS = {"2025-11-25": ["--suite", "active"], "2026-07-28": ["--requirements", "2026-07-28"]}
_NEEDS_SUITE = re.compile("|".join(EXCUSED["needs_what_the_suite_brings"]))


def main() -> int:
    with _with_key() as url:
        troubles = [trouble for version in RUNS for trouble in _run(version, url)]
    print("\n".join(troubles))
    return 1 if troubles else 0


def _run(version: str, url: str) -> list[str]:
    results = BUILD / "conformance" / version
    shutil.rmtree(results, ignore_errors=True)
    suite = [_node_22(), "node_modules/@modelcontextprotocol/conformance/dist/index.js", "server", "--url", url]
    # Its exit code tells of checks that need its own test server too, so results are judged one by one.
    subprocess.run([*suite, *RUNS[version], "-o", str(results)], stdout=subprocess.DEVNULL, timeout=110)
    checks = [check for path in sorted(results.rglob("checks.json")) for check in json.loads(path.read_text("utf-8"))]
    return judged(version, checks)


def judged(version: str, checks: list[dict[str, Any]]) -> list[str]:
    """What is wrong with these results, in words."""
    passed = sum(check["status"] == "SUCCESS" for check in checks)
    least: int = EXCUSED["least_passed"][version]
    too_few = [f"{version}: only {passed} of {least} checks passed"] if passed < least else []
    return too_few + [f"{version}: {check['id']}: {check.get('errorMessage')}" for check in checks if _is_ours(check)]


def _is_ours(check: dict[str, Any]) -> bool:
    if check["status"] not in ("FAILURE", "WARNING") or check["id"] in EXCUSED["not_offered"]:
        return False
    return _NEEDS_SUITE.search(str(check.get("errorMessage"))) is None


def _node_22() -> str:
    brought = sorted(BUILD.glob("node_modules/node-*/bin/node"))
    return str(brought[0]) if brought else "node"


@contextmanager
def _with_key() -> Iterator[str]:
    command = ["node", "with_key.mjs"]
    proxy = subprocess.Popen(command, cwd=BUILD, env=os.environ, stdout=subprocess.PIPE, text=True)
    try:
        assert proxy.stdout is not None
        yield f"http://127.0.0.1:{int(proxy.stdout.readline())}/mcp"
    finally:
        proxy.terminate()
        proxy.wait(timeout=10)


if __name__ == "__main__":
    sys.exit(main())
