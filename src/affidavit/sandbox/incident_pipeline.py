"""Runs everything from a fault to its diagnosis on this machine: workload, alarms, alerts, MCP server, supervisor.

Faults are real to the workload: its role's permissions are enforced, and its packets stop where its VPC says so. The
MCP server and the supervisor are processes of their own that find everything through the environment, as in AWS.
"""

import secrets
import socket
import urllib.error
import urllib.request
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from affidavit.adapters.aws.workload.inspector import AwsWorkloadInspector
from affidavit.sandbox.account.function_account import FUNCTION, SeededAccount, seed_account
from affidavit.sandbox.account.repair_people import RepairPeople, make_repair_people
from affidavit.sandbox.aws.alarm_evaluation import AlarmClock
from affidavit.sandbox.aws.alert_queue import make_queue
from affidavit.sandbox.aws.clients import EmulatorClients
from affidavit.sandbox.aws.emulated_egress import VpcGate, function_may_leave
from affidavit.sandbox.processes.child import Child
from affidavit.sandbox.processes.kept_alive import KeptAlive
from affidavit.sandbox.sandbox import Sandbox

ACCOUNT_ID = "000000000000"
KEY_PARAMETER = "/incident-response/mcp-api-key"
# By name: it is another process, and in the import graph it stands above this folder.
SUPERVISOR_MODULE = "affidavit.entrypoints.cli.sandbox.incident_supervisor"


@dataclass(slots=True)
class IncidentPath:
    """Entered after the sandbox. `chat` are the settings of the chat model; without them rules alone conclude."""

    sandbox: Sandbox
    chat: dict[str, str] = field(default_factory=lambda: {"CHAT_PROVIDER": "offline"})
    has_servers: bool = True
    """Without: the workload and its queue alone, and whoever entered this starts servers."""
    seeded: SeededAccount = field(init=False)
    repairs: RepairPeople = field(init=False)
    gate: VpcGate = field(init=False)
    queue_url: str = field(init=False, default="")
    mcp_port: int = field(init=False, default=0)
    _stack: ExitStack = field(init=False, default_factory=ExitStack)

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def environment(self) -> dict[str, str]:
        """The sandbox's, and what leads to this path."""
        return (
            self.sandbox.environment
            | self.chat
            | (self.repairs.settings if hasattr(self, "repairs") else {})
            | {
                "MCP_SERVER_URL": f"http://127.0.0.1:{self.mcp_port}/mcp",
                "MCP_API_KEY_PARAMETER": KEY_PARAMETER,
                "CHAOS_ACCOUNTS": ACCOUNT_ID,
                "INCIDENT_TOPIC_ARN": self.seeded.topic_arn if hasattr(self, "seeded") else "",
            }
        )

    @property
    def people(self) -> dict[str, dict[str, str]]:
        """The variables that make a program one of the people who approve repairs."""
        return {name: keys.environment for name, keys in self.repairs.people.items()}

    @property
    def folder(self) -> Path:
        return self.sandbox.folder

    def mcp_server(self, port: int | None = None) -> Child:
        """Not started yet. Its key lies in Parameter Store."""
        arguments = ["affidavit", "mcp", "--http", "--port", str(port or self.mcp_port), "--toolsets", "lambda,nodes"]
        return self._child("MCP server", arguments)

    def supervisor(self, **settings: str) -> Child:
        """Not started yet. `settings` differ from the environment's."""
        return self._child("supervisor", [SUPERVISOR_MODULE, self.queue_url], settings)

    def _child(self, name: str, arguments: list[str], settings: dict[str, str] | None = None) -> Child:
        log = self.folder / f"{name.lower().replace(' ', '-')}.log"
        return Child(name, arguments, environment=self.environment | (settings or {}), log=log)

    def _start(self) -> None:
        self.mcp_port = free_port()
        ssm = self.sandbox.client("ssm")
        ssm.put_parameter(Name=KEY_PARAMETER, Value=secrets.token_urlsafe(32), Type="SecureString", Overwrite=True)
        server = self._stack.enter_context(KeptAlive(self.mcp_server())) if self.has_servers else None
        self._start_workload()
        if server is not None:
            self._stack.enter_context(KeptAlive(self.supervisor()))
            server.child.wait_until(lambda: answers(self.mcp_port))

    def _start_workload(self) -> None:
        account = self.sandbox.account
        inspector = AwsWorkloadInspector(EmulatorClients(account))
        place = urlsplit(account.url)
        upstream = (str(place.hostname), int(place.port or 0))
        self.gate = self._stack.enter_context(VpcGate(upstream, lambda: function_may_leave(inspector, FUNCTION)))
        self.seeded = seed_account(account, region=account.region, gate_url=self.gate.url)
        self.repairs = make_repair_people(account)
        self.queue_url = make_queue(account, self.seeded.topic_arn)
        self._stack.enter_context(AlarmClock(account.client("cloudwatch")))


def answers(port: int) -> bool:
    with suppress(urllib.error.URLError, OSError):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2).close()
        return True
    return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
