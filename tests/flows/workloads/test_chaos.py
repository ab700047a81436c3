"""Chaos on the emulator with real boto3 calls: faults bite, and what was there comes back, also after SIGKILL."""

import json
import multiprocessing
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.investigations.workload_account import ACCOUNT, Stage
from tests.support.processes.chaos_child import act

from affidavit.adapters.local.table import SqliteTable
from affidavit.chaos.allowed_targets import TAG
from affidavit.chaos.fault_planning import plan_network, plan_revoke, plan_throttle
from affidavit.chaos.inject_and_restore import inject, restore, saved_experiments
from affidavit.chaos.injectable_faults import InjectedFault, NetworkMethod, RevokeTarget
from affidavit.errors import Conflict, InputRefused, NotFound
from affidavit.ports.clock import SystemClock
from affidavit.ports.table import Table

FUNCTION = "data-processor"
ROLE = "data-processor-role"
HERE = frozenset({ACCOUNT})


def broken(here: Stage, table: Table, fault: InjectedFault, changes: Any, accounts: frozenset[str] = HERE) -> None:
    inject(here.target(), table, SystemClock(), function=FUNCTION, fault=fault, changes=changes, accounts=accounts)


def everything(here: Stage) -> str:
    """All that chaos may touch, as text."""
    target, network = here.target(), here.seeded.network
    return json.dumps(
        {
            "inline": target.inline_policies(ROLE),
            "attached": list(target.attached_policies(ROLE)),
            "concurrency": target.reserved_concurrency(FUNCTION),
            "groups": target.security_groups([network.group_id]),
            "acls": target.network_acls(network.vpc_id),
        },
        sort_keys=True,
    )


def test_a_revoked_role_makes_the_function_fail_and_restoring_heals_it(here: Stage, table: Table) -> None:
    before = everything(here)
    broken(here, table, InjectedFault.IAM, plan_revoke(here.target(), FUNCTION, RevokeTarget.S3))
    failed = here.invoke()
    assert failed["FunctionError"] == "Unhandled"
    assert b"AccessDenied" in failed["Payload"].read()
    assert sorted(here.target().inline_policies(ROLE)) == ["cloudwatch-write", "logs-write", "sns-publish"]
    restore(here.target(), table, function=FUNCTION, fault=InjectedFault.IAM)
    assert "FunctionError" not in here.invoke()
    assert everything(here) == before


def test_revoking_one_service_leaves_the_other_statements_of_a_shared_policy(here: Stage, table: Table) -> None:
    mixed = {
        "Version": "2012-10-17",
        "Statement": [
            {"Sid": "A", "Effect": "Allow", "Action": ["s3:ListBucket"], "Resource": "*"},
            {"Sid": "B", "Effect": "Allow", "Action": ["sqs:SendMessage"], "Resource": "*"},
            {"Sid": "C", "Effect": "Deny", "Action": ["s3:DeleteObject"], "Resource": "*"},
        ],
    }
    iam = here.client("iam")
    iam.put_role_policy(RoleName=ROLE, PolicyName="mixed", PolicyDocument=json.dumps(mixed))
    try:
        broken(here, table, InjectedFault.IAM, plan_revoke(here.target(), FUNCTION, RevokeTarget.S3))
        assert [entry["Sid"] for entry in here.target().inline_policies(ROLE)["mixed"]["Statement"]] == ["B", "C"]
        restore(here.target(), table, function=FUNCTION, fault=InjectedFault.IAM)
        assert here.target().inline_policies(ROLE)["mixed"] == mixed
    finally:
        iam.delete_role_policy(RoleName=ROLE, PolicyName="mixed")


def test_an_attached_policy_that_grants_the_service_is_detached_and_attached_again(here: Stage, table: Table) -> None:
    iam = here.client("iam")
    document = {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "cloudwatch:*", "Resource": "*"}}
    arn = iam.create_policy(PolicyName="metrics", PolicyDocument=json.dumps(document))["Policy"]["Arn"]
    iam.attach_role_policy(RoleName=ROLE, PolicyArn=arn)
    try:
        broken(here, table, InjectedFault.IAM, plan_revoke(here.target(), FUNCTION, RevokeTarget.CLOUDWATCH))
        assert arn not in here.target().attached_policies(ROLE)
        restore(here.target(), table, function=FUNCTION, fault=InjectedFault.IAM)
        assert arn in here.target().attached_policies(ROLE)
    finally:
        iam.detach_role_policy(RoleName=ROLE, PolicyArn=arn)


@pytest.mark.parametrize("to", [0, 1])
def test_a_throttle_sets_concurrency_and_restoring_removes_the_reservation(here: Stage, table: Table, to: int) -> None:
    before = everything(here)
    broken(here, table, InjectedFault.THROTTLE, plan_throttle(here.target(), FUNCTION, to))
    assert here.ask("get_lambda_config")["ReservedConcurrentExecutions"] == to
    restore(here.target(), table, function=FUNCTION, fault=InjectedFault.THROTTLE)
    assert everything(here) == before


def test_a_reservation_that_was_there_comes_back_as_it_was(here: Stage, table: Table) -> None:
    here.target().set_reserved_concurrency(FUNCTION, 7)
    broken(here, table, InjectedFault.THROTTLE, plan_throttle(here.target(), FUNCTION, 0))
    restore(here.target(), table, function=FUNCTION, fault=InjectedFault.THROTTLE)
    assert here.target().reserved_concurrency(FUNCTION) == 7
    here.target().set_reserved_concurrency(FUNCTION, None)


@pytest.mark.parametrize("method", list(NetworkMethod))
def test_a_network_block_shows_in_the_network_state_and_goes(here: Stage, table: Table, method: NetworkMethod) -> None:
    before = everything(here)
    broken(here, table, InjectedFault.NETWORK, plan_network(here.target(), FUNCTION, method))
    state = here.ask("get_network_state")
    if method is NetworkMethod.EGRESS:
        assert state["security_groups"][0]["egress"] == []
    else:
        first = state["subnets"][0]["nacl_rules"][0]
        assert (first["direction"], first["action"], first["number"]) == ("egress", "deny", 99)
    restore(here.target(), table, function=FUNCTION, fault=InjectedFault.NETWORK)
    assert everything(here) == before


def test_chaos_is_refused_in_an_account_that_is_not_listed(here: Stage, table: Table) -> None:
    before = everything(here)
    changes = plan_throttle(here.target(), FUNCTION, 0)
    for accounts in (frozenset[str](), frozenset({"999999999999"})):
        with pytest.raises(InputRefused, match="not on chaos's list"):
            broken(here, table, InjectedFault.THROTTLE, changes, accounts)
    assert everything(here) == before
    assert saved_experiments(here.target(), table, function=FUNCTION) == []


def test_chaos_is_refused_on_a_role_without_the_tag(here: Stage, table: Table) -> None:
    before = everything(here)
    here.client("iam").untag_role(RoleName=ROLE, TagKeys=[TAG])
    try:
        with pytest.raises(InputRefused, match=f"role {ROLE} does not carry the tag"):
            broken(here, table, InjectedFault.IAM, plan_revoke(here.target(), FUNCTION, RevokeTarget.S3))
    finally:
        here.client("iam").tag_role(RoleName=ROLE, Tags=[{"Key": TAG, "Value": "allowed"}])
    assert everything(here) == before


def test_chaos_is_refused_on_a_function_without_the_tag(here: Stage, table: Table) -> None:
    arn = here.seeded.function_arn
    here.client("lambda").untag_resource(Resource=arn, TagKeys=[TAG])
    try:
        with pytest.raises(InputRefused, match="function data-processor does not carry"):
            broken(here, table, InjectedFault.THROTTLE, plan_throttle(here.target(), FUNCTION, 0))
    finally:
        here.client("lambda").tag_resource(Resource=arn, Tags={TAG: "allowed"})


def test_a_second_injection_is_refused_until_the_first_is_restored(here: Stage, table: Table) -> None:
    broken(here, table, InjectedFault.THROTTLE, plan_throttle(here.target(), FUNCTION, 1))
    with pytest.raises(Conflict, match="not restored yet"):
        broken(here, table, InjectedFault.THROTTLE, plan_throttle(here.target(), FUNCTION, 0))
    restore(here.target(), table, function=FUNCTION, fault=InjectedFault.THROTTLE)
    assert here.target().reserved_concurrency(FUNCTION) is None


def test_restoring_what_was_never_broken_says_so(here: Stage, table: Table) -> None:
    with pytest.raises(NotFound, match="no network experiment"):
        restore(here.target(), table, function=FUNCTION, fault=InjectedFault.NETWORK)


def killed(file: Path, action: str, fault: str, number: int, moment: str) -> int | None:
    """The signal that ended a process of its own. Forked: starting an interpreter a hundred times takes minutes."""
    process = multiprocessing.get_context("fork").Process(target=act, args=(file, action, fault, number, moment))
    process.start()
    process.join(60)
    return None if process.exitcode is None else -process.exitcode


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["iam", "throttle", "egress", "nacl"])
def test_killed_at_any_write_of_injection_or_restoration_what_was_there_comes_back(
    here: Stage, tmp_path: Path, fault: str
) -> None:
    before = everything(here)
    injecting = act(tmp_path / "count.sqlite", "inject", fault, 0, "never")
    assert everything(here) != before
    restoring = act(tmp_path / "count.sqlite", "restore", fault, 0, "never")
    assert everything(here) == before
    boundaries = [("inject", number) for number in range(1, injecting + 1)]
    boundaries += [("restore", number) for number in range(1, restoring + 1)]
    assert len(boundaries) >= 4
    for action, number in boundaries:
        for moment in ("before", "after"):
            _kill_and_heal(here, tmp_path / f"{action}{number}{moment}.sqlite", action, fault, number, moment)
            assert everything(here) == before, (action, number, moment)


def _kill_and_heal(here: Stage, file: Path, action: str, fault: str, number: int, moment: str) -> None:
    if action == "restore":
        act(file, "inject", fault, 0, "never")
    assert killed(file, action, fault, number, moment) == signal.SIGKILL
    table = SqliteTable(file, "chaos", SystemClock())
    for experiment in saved_experiments(here.target(), table, function=FUNCTION):
        restore(here.target(), table, function=FUNCTION, fault=experiment.fault)
    assert saved_experiments(here.target(), table, function=FUNCTION) == []


def command(here: Stage, data: Path, *words: str, accounts: str = ACCOUNT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "affidavit", "chaos", *words],
        env={**here.environment, "AFFIDAVIT_DATA": str(data), "CHAOS_ACCOUNTS": accounts},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_command_breaks_says_so_and_puts_back(here: Stage, tmp_path: Path) -> None:
    before = everything(here)
    revoked = command(here, tmp_path, "iam", "revoke", "--target", "both")
    assert revoked.returncode == 0, revoked.stderr
    assert "inline policy s3-read of role data-processor-role removed" in revoked.stdout
    shown = command(here, tmp_path, "status")
    assert "inline policy cloudwatch-write of role data-processor-role removed: in force" in shown.stdout
    again = command(here, tmp_path, "iam", "revoke", "--target", "s3")
    assert (again.returncode, everything(here) != before) == (2, True)
    restored = command(here, tmp_path, "restore")
    assert restored.returncode == 0, restored.stderr
    assert everything(here) == before
    assert "nothing to restore" in command(here, tmp_path, "restore").stdout


def test_the_command_refuses_without_a_list_of_accounts_and_changes_nothing(here: Stage, tmp_path: Path) -> None:
    before = everything(here)
    refused = command(here, tmp_path, "throttle", accounts="")
    assert refused.returncode == 2
    assert "CHAOS_ACCOUNTS" in refused.stderr
    assert everything(here) == before


def test_a_dry_run_only_says_what_would_change(here: Stage, tmp_path: Path) -> None:
    before = everything(here)
    said = command(here, tmp_path, "network", "--method", "nacl", "--dry-run")
    assert said.returncode == 0, said.stderr
    assert "would be: deny 99 put in front of network ACL" in said.stdout
    assert everything(here) == before
    assert "no experiment on data-processor is open" in command(here, tmp_path, "status").stdout
