"""From a fault on the emulator to a verified diagnosis, with no chat model: real calls, real runs, real denials."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from tests.support.workload_account import ACCOUNT, Stage, stage

from affidavit.adapters.local.table import SqliteTable
from affidavit.agent.rules import best_so_far
from affidavit.chaos.choices import Fault, NetworkMethod, RevokeTarget
from affidavit.chaos.experiments import inject, restore
from affidavit.chaos.plans import plan_network, plan_revoke, plan_throttle
from affidavit.evidence.diagnosis import Diagnosis
from affidavit.ports import SystemClock
from affidavit.verification.entry import make_entry
from affidavit.verification.verify import verify
from affidavit.workloads.records import TOOL_ARG_SCHEMAS

FUNCTION = "data-processor"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """An account of its own for each test: the log of one fault would be evidence in the next."""
    with stage(tmp_path / "emulator") as made:
        for name, value in made.environment.items():
            monkeypatch.setenv(name, value)
        assert "FunctionError" not in made.invoke()
        yield made


def planned(here: Stage, fault: str) -> tuple[Fault, Any]:
    kind, _, detail = fault.partition(" ")
    match kind:
        case "revoke":
            return Fault.IAM, plan_revoke(here.target(), FUNCTION, RevokeTarget(detail))
        case "throttle":
            return Fault.THROTTLE, plan_throttle(here.target(), FUNCTION, int(detail))
        case _:
            return Fault.NETWORK, plan_network(here.target(), FUNCTION, NetworkMethod(detail))


def diagnosed(here: Stage, folder: Path, faults: tuple[str, ...]) -> Diagnosis:
    table = SqliteTable(folder / "chaos.sqlite", "chaos", SystemClock())
    with ExitStack() as undo:
        for fault in faults:
            kind, changes = planned(here, fault)
            accounts = frozenset({ACCOUNT})
            inject(
                here.target(),
                table,
                SystemClock(),
                function=FUNCTION,
                fault=kind,
                changes=changes,
                accounts=accounts,
            )
            undo.callback(restore, here.target(), table, function=FUNCTION, fault=kind)
        run_into(here, faults)
        entries = [
            make_entry(tool, tool, {"lambda_name": FUNCTION}, here.ask(tool)) for tool in sorted(TOOL_ARG_SCHEMAS)
        ]
    diagnosis = best_so_far(entries)
    assert diagnosis is not None
    assert verify(diagnosis, entries).holds
    return diagnosis


def run_into(here: Stage, faults: tuple[str, ...]) -> None:
    """Runs that meet the fault. Under a throttle many at once, so that some are refused."""
    if any(fault.startswith("network") for fault in faults):
        here.wait_for_gate(shut=True)
    callers = 8 if any(fault.startswith("throttle") for fault in faults) else 1
    client = here.client("lambda")
    with ThreadPoolExecutor(callers) as pool:
        runs = [pool.submit(client.invoke, FunctionName=FUNCTION, Payload=b"{}") for _ in range(callers + 1)]
        for run in runs:
            with suppress(ClientError):  # throttled
                run.result()


@pytest.mark.parametrize(
    ("faults", "kinds", "words"),
    [
        (("revoke s3",), {"permission_loss"}, ("s3",)),
        (("revoke cloudwatch",), {"permission_loss"}, ("cloudwatch",)),
        (("throttle 0",), {"throttling"}, ("concurrency",)),
        (("throttle 1",), {"throttling"}, ("concurrency",)),
        (("network egress",), {"network_block"}, ("egress",)),
        (("network nacl",), {"network_block"}, ("acl",)),
        (("revoke s3", "throttle 1"), {"permission_loss", "throttling"}, ("s3", "concurrency")),
    ],
    ids=lambda value: " + ".join(value) if isinstance(value, tuple) else None,
)
def test_a_fault_on_the_emulator_is_diagnosed_and_verifies(
    here: Stage, tmp_path: Path, faults: tuple[str, ...], kinds: set[str], words: tuple[str, ...]
) -> None:
    diagnosis = diagnosed(here, tmp_path, faults)
    assert {kind.value for kind in diagnosis.fault_types} == kinds
    assert [word for word in words if word not in diagnosis.root_cause.lower()] == []
    assert all(step.evidence_basis for step in diagnosis.remediation_plan)


def test_a_healthy_function_is_not_given_a_fault(here: Stage) -> None:
    entries = [make_entry(tool, tool, {"lambda_name": FUNCTION}, here.ask(tool)) for tool in sorted(TOOL_ARG_SCHEMAS)]
    diagnosis = best_so_far(entries)
    assert diagnosis is None or diagnosis.fault_types == ()
