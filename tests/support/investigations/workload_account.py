"""The seeded account on an emulator that enforces IAM, for tests that break it."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.workload.fault_injection_calls import AwsFaultTarget
from affidavit.adapters.aws.workload.inspector import AwsWorkloadInspector
from affidavit.ports.clock import SystemClock
from affidavit.sandbox.account.function_account import FUNCTION, SeededAccount, seed_account
from affidavit.sandbox.aws.clients import EmulatorClients
from affidavit.sandbox.aws.emulated_egress import VpcGate, function_may_leave
from affidavit.sandbox.aws.emulator import Emulator
from affidavit.sandbox.aws.resources import Account
from affidavit.workloads.questions import Workloads

REGION = "ca-central-1"
ACCOUNT = "000000000000"


@dataclass(frozen=True, kw_only=True)
class Stage:
    account: Account
    seeded: SeededAccount
    environment: dict[str, str]
    gate: VpcGate

    def client(self, service: str) -> Any:
        return self.account.client(service)

    def target(self) -> AwsFaultTarget:
        """Through the environment, as production code finds its endpoint. One for all: making clients takes seconds."""
        return self._target

    @cached_property
    def _target(self) -> AwsFaultTarget:
        return AwsFaultTarget(AwsClients(REGION))

    def workloads(self) -> Workloads:
        return Workloads(inspector=self.target(), clock=SystemClock(), functions=frozenset({self.seeded.function}))

    def unscoped(self) -> Workloads:
        return Workloads(inspector=self.target(), clock=SystemClock(), functions=None)

    def ask(self, tool: str) -> Any:
        return self.workloads().answer(tool, {"lambda_name": self.seeded.function})

    def wait_for_gate(self, *, shut: bool) -> None:
        deadline = time.monotonic() + 20
        while self.gate.is_shut != shut and time.monotonic() < deadline:
            time.sleep(0.05)
        assert self.gate.is_shut == shut

    def invoke(self) -> Any:
        return self.client("lambda").invoke(FunctionName=self.seeded.function, Payload=b"{}")


@contextmanager
def stage(folder: Path) -> Iterator[Stage]:
    emulator = Emulator(folder, region=REGION)
    emulator.start()
    account = Account(url=emulator.url, region=REGION, keys=emulator.keys)
    inspector = AwsWorkloadInspector(EmulatorClients(account))
    where = urlsplit(emulator.url)
    try:
        with VpcGate(
            (str(where.hostname), int(where.port or 0)), lambda: function_may_leave(inspector, FUNCTION)
        ) as gate:
            seeded = seed_account(account, region=REGION, gate_url=gate.url)
            yield Stage(account=account, seeded=seeded, environment=_environment(account), gate=gate)
    finally:
        emulator.stop()


def _environment(account: Account) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return kept | {
        "AWS_ENDPOINT_URL": account.url,
        **account.keys.environment,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
