"""A process that injects or restores a fault and is killed at the n-th write, before or after it takes effect."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.workload.fault_injection_calls import AwsFaultTarget
from affidavit.adapters.local.table import SqliteTable
from affidavit.chaos.fault_planning import plan_network, plan_revoke, plan_throttle
from affidavit.chaos.inject_and_restore import inject, restore
from affidavit.chaos.injectable_faults import InjectedFault, NetworkMethod, RevokeTarget
from affidavit.ports.clock import SystemClock
from tests.support.investigations.workload_account import ACCOUNT, REGION

WRITES = {
    "put_inline_policy",
    "delete_inline_policy",
    "attach_policy",
    "detach_policy",
    "set_reserved_concurrency",
    "allow_egress",
    "revoke_egress",
    "put_acl_entry",
    "delete_acl_entry",
    "write",
}
FUNCTION = "data-processor"


class Writes:
    def __init__(self, fatal: int, moment: str) -> None:
        self.made, self._fatal, self._moment = 0, fatal, moment

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **named: Any) -> Any:
            self.made += 1
            self._die_if("before")
            result = call(*args, **named)
            self._die_if("after")
            return result

        return counted

    def _die_if(self, moment: str) -> None:
        if self.made == self._fatal and moment == self._moment:
            os.kill(os.getpid(), signal.SIGKILL)


class Watched:
    """Passes everything on; writes are counted."""

    def __init__(self, real: Any, writes: Writes) -> None:
        self._real, self._writes = real, writes

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        return self._writes.around(found) if name in WRITES else found


def planned(target: Any, fault: str) -> tuple[InjectedFault, list[Any]]:
    match fault:
        case "iam":
            return InjectedFault.IAM, plan_revoke(target, FUNCTION, RevokeTarget.BOTH)
        case "throttle":
            return InjectedFault.THROTTLE, plan_throttle(target, FUNCTION, 0)
        case "egress":
            return InjectedFault.NETWORK, plan_network(target, FUNCTION, NetworkMethod.EGRESS)
        case _:
            return InjectedFault.NETWORK, plan_network(target, FUNCTION, NetworkMethod.NACL)


def act(file: Path, action: str, fault: str, fatal: int, moment: str) -> int:
    """How many writes it took. With `fatal` in range nobody learns, because the process is gone."""
    writes = Writes(fatal, moment)
    target: Any = Watched(AwsFaultTarget(AwsClients(REGION)), writes)
    table: Any = Watched(SqliteTable(file, "chaos", SystemClock()), writes)
    if action == "inject":
        kind, changes = planned(target, fault)
        accounts = frozenset({ACCOUNT})
        inject(target, table, SystemClock(), function=FUNCTION, fault=kind, changes=changes, accounts=accounts)
    else:
        kind = InjectedFault.NETWORK if fault in ("egress", "nacl") else InjectedFault(fault)
        restore(target, table, function=FUNCTION, fault=kind)
    return writes.made
