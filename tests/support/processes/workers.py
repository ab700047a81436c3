"""Workers that can be killed: each is a process of its own, forked from one that has loaded everything already.

`python -m tests.support.processes.workers`: for every event on a line of its input it forks, tells the child's process
id, lets the child handle the event as Lambda does, and tells how it ended (as `os.waitstatus_to_exitcode` does).
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from affidavit.adapters.aws.clients import AwsClients
from affidavit.entrypoints.lambdas import on_incident

LIMIT_MILLISECONDS = 300_000


class Workers:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def start(self, event: Mapping[str, Any]) -> int:
        """The worker's process id. It works already."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps(event)}\n")
        self._process.stdin.flush()
        return self._told()

    def wait(self) -> int:
        """How the worker ended: 0, or minus the signal that killed it."""
        return self._told()

    def _told(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())


@contextmanager
def workers(environment: Mapping[str, str], log: Path) -> Iterator[Workers]:
    with (
        log.open("ab") as errors,
        subprocess.Popen(
            [sys.executable, "-m", "tests.support.processes.workers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={"PATH": "", **environment},
            cwd=Path(__file__).parents[3],
            text=True,
        ) as process,
    ):
        yield Workers(process)
        process.terminate()


class _Context:
    invoked_function_arn = ""

    def get_remaining_time_in_millis(self) -> int:
        return LIMIT_MILLISECONDS


def main() -> None:
    _load()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _work(json.loads(line))
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _load() -> None:
    """Once, and not in every worker. None of it starts a thread or a connection."""
    for name in ("adapters.aws.mcp_api_key", "adapters.aws.bedrock_chat", "agent.toolbox.mcp_tools", "agent.run"):
        import_module(f"affidavit.{name}")
    # Descriptions of services are kept: a worker makes its own clients of them.
    clients = AwsClients("ca-central-1")
    for service in ("dynamodb", "s3", "sns", "ssm", "bedrock", "bedrock-runtime"):
        clients.client(service)


def _work(event: dict[str, Any]) -> None:
    os.dup2(2, 1)  # its lines are for the log
    on_incident.handler(event, _Context())
    os._exit(0)


if __name__ == "__main__":
    main()
