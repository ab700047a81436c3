"""Known-good states on the emulator: captured by real calls, compared after faults, kept by the watchdog in time."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.clock import ClockAhead
from tests.support.investigations.workload_account import Stage
from tests.support.processes.command import affidavit

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.workload.state_inspector import AwsStateInspector
from affidavit.adapters.local.objects import DirectoryObjectStore
from affidavit.adapters.local.table import SqliteTable
from affidavit.errors import Conflict, EvidenceUnavailable, NotFound
from affidavit.known_good.capture import Captures, Watched
from affidavit.known_good.store import KnownGoodStore
from affidavit.ports.clock import SystemClock
from affidavit.workloads.questions import Workloads
from affidavit.workloads.wire import BaselineDiffResponse

FUNCTION = "data-processor"
ROLE = "data-processor-role"


@pytest.fixture
def captures(here: Stage, tmp_path: Path) -> Captures:
    clock = ClockAhead()
    table = SqliteTable(tmp_path / "state.sqlite", "state", SystemClock())
    store = KnownGoodStore(objects=DirectoryObjectStore(tmp_path / "objects"), table=table, clock=clock)
    return Captures(store=store, inspector=AwsStateInspector(AwsClients(here.target()._clients.region)))


def nobody(_: str) -> bool:
    return False


def everybody(_: str) -> bool:
    return True


@contextmanager
def reserved(here: Stage, value: int) -> Iterator[None]:
    here.client("lambda").put_function_concurrency(FunctionName=FUNCTION, ReservedConcurrentExecutions=value)
    try:
        yield
    finally:
        here.client("lambda").delete_function_concurrency(FunctionName=FUNCTION)


def asked(here: Stage, captures: Captures) -> dict[str, Any]:
    workloads = Workloads(
        inspector=here.target(), clock=SystemClock(), functions=frozenset({FUNCTION}), captures=captures
    )
    answer = workloads.answer("get_baseline_diff", {"lambda_name": FUNCTION})
    BaselineDiffResponse.model_validate(answer)
    return answer


def paths(answer: dict[str, Any]) -> dict[str, str]:
    return {one["path"]: one["kind"] for one in answer["differences"]}


def kept(captures: Captures) -> Any:
    return captures.capture(FUNCTION, troubled=nobody, is_insisting=True)


def test_the_whole_state_is_captured_and_no_value_of_a_variable_is_in_it(here: Stage, captures: Captures) -> None:
    done = kept(captures)
    state = captures.store.document(done.kept)
    assert state["not_read"] == [] and done.state.why_not_read == {}
    assert sorted(state["permissions"]["inline_policies"]) == [
        "cloudwatch-write",
        "logs-write",
        "s3-read",
        "sns-publish",
    ]
    assert state["concurrency"] == {"reserved": None}
    assert state["configuration"]["settings"]["Timeout"] == 20
    network = here.seeded.network
    assert state["network"]["security_groups"][network.group_id]["egress"]
    assert state["network"]["network_acls"][network.nacl_id]["subnets"] == [network.subnet_id]
    assert state["network"]["route_tables"][network.route_table_id]["routes"]
    assert set(state["configuration"]["environment_digests"]) >= {"INPUT_BUCKET", "METRIC_NAMESPACE"}
    environment = json.dumps(state["configuration"]["environment_digests"])
    assert "data-processor-input" not in environment and environment.count("hmac-sha256:") >= 3


def test_capturing_again_without_a_change_is_the_same_state(here: Stage, captures: Captures) -> None:
    first, second = kept(captures), kept(captures)
    assert first.kept.sha256 == second.kept.sha256
    assert [one.captured_at for one in captures.store.history(first.kept.function_arn)] == [first.kept.captured_at]


def test_a_digest_tells_that_a_variable_changed_and_another_deployment_has_other_digests(
    here: Stage, captures: Captures
) -> None:
    inspector = captures.inspector
    one, other = (inspector.environment_digests(FUNCTION, key=key) for key in (b"a" * 32, b"b" * 32))
    assert one == inspector.environment_digests(FUNCTION, key=b"a" * 32)
    assert set(one) == set(other) and not set(one.values()) & set(other.values())


def test_a_lost_policy_and_a_changed_concurrency_are_told_with_what_was_there(here: Stage, captures: Captures) -> None:
    kept(captures)
    policy = here.target().inline_policies(ROLE)["s3-read"]
    here.client("iam").delete_role_policy(RoleName=ROLE, PolicyName="s3-read")
    try:
        with reserved(here, 0):
            answer = asked(here, captures)
    finally:
        here.client("iam").put_role_policy(RoleName=ROLE, PolicyName="s3-read", PolicyDocument=json.dumps(policy))
    assert paths(answer) == {"/concurrency/reserved": "changed", "/permissions/inline_policies/s3-read": "removed"}
    removed = next(one for one in answer["differences"] if one["kind"] == "removed")
    assert removed["was"] == policy and answer["not_read"] == []
    assert asked(here, captures)["differences"] == []


def test_closed_egress_a_deny_entry_and_a_lost_route_are_told_entry_by_entry(here: Stage, captures: Captures) -> None:
    kept(captures)
    ec2, network = here.client("ec2"), here.seeded.network
    rules = here.target().security_groups([network.group_id])[0]["IpPermissionsEgress"]
    tables = here.target().route_tables(network.vpc_id)
    gateway = next(
        route["GatewayId"] for table in tables for route in table["Routes"] if route["GatewayId"].startswith("igw-")
    )
    entry = {"RuleNumber": 1, "Protocol": "-1", "RuleAction": "deny", "Egress": True, "CidrBlock": "0.0.0.0/0"}
    ec2.revoke_security_group_egress(GroupId=network.group_id, IpPermissions=rules)
    ec2.create_network_acl_entry(NetworkAclId=network.nacl_id, **entry)
    ec2.delete_route(RouteTableId=network.route_table_id, DestinationCidrBlock="0.0.0.0/0")
    try:
        found = paths(asked(here, captures))
    finally:
        ec2.authorize_security_group_egress(GroupId=network.group_id, IpPermissions=rules)
        ec2.delete_network_acl_entry(NetworkAclId=network.nacl_id, RuleNumber=1, Egress=True)
        ec2.create_route(RouteTableId=network.route_table_id, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway)
    assert found == {
        f"/network/security_groups/{network.group_id}/egress": "removed",
        f"/network/network_acls/{network.nacl_id}/entries": "added",
        f"/network/route_tables/{network.route_table_id}/routes": "removed",
    }
    assert asked(here, captures)["differences"] == []


def test_without_a_kept_state_nothing_is_called_equal(here: Stage, captures: Captures) -> None:
    answer = asked(here, captures)
    assert answer["has_baseline"] is False and answer["baseline_sha256"] is None
    assert here.ask("get_baseline_diff")["has_baseline"] is False


def test_one_flipped_byte_of_a_kept_state_is_found(here: Stage, captures: Captures, tmp_path: Path) -> None:
    done = kept(captures)
    file = tmp_path / "objects" / done.kept.key
    file.chmod(0o600)
    file.write_bytes(file.read_bytes().replace(b'"Timeout":20', b'"Timeout":21'))
    with pytest.raises(EvidenceUnavailable, match="was changed after it was captured"):
        captures.store.document(done.kept)
    assert "was changed" in asked(here, captures)["error"]


def test_an_open_incident_or_failed_runs_refuse_a_capture_unless_a_person_insists(
    here: Stage, captures: Captures
) -> None:
    with pytest.raises(Conflict, match="incident"):
        captures.capture(FUNCTION, troubled=everybody, is_insisting=False)
    with reserved(here, 0):
        with pytest.raises(here.client("lambda").exceptions.ClientError):
            here.invoke()
        captures.store.clock.ahead = timedelta(minutes=1)  # type: ignore[attr-defined] - CloudWatch counts whole minutes
        with pytest.raises(Conflict, match="throttled"):
            captures.capture(FUNCTION, troubled=nobody, is_insisting=False)
        assert captures.capture(FUNCTION, troubled=nobody, is_insisting=True).kept.vouched_by == "person"


def watch(captures: Captures, troubled: Any = nobody, names: tuple[str, ...] = (FUNCTION,)) -> dict[str, Watched]:
    return captures.watch(names, troubled=troubled, until=captures.store.clock.now() + timedelta(minutes=5))


def test_a_missing_function_keeps_no_other_from_its_turn(here: Stage, captures: Captures) -> None:
    done = watch(captures, names=("nobody", FUNCTION))
    assert done == {"nobody": Watched.FAILED, FUNCTION: Watched.WAITING}
    with pytest.raises(NotFound):
        captures.live("nobody")


class CountedInspector(AwsStateInspector):
    """The emulator's account with numbers of a test's own: waiting for CloudWatch's minutes would take minutes."""

    def __init__(self, clients: AwsClients) -> None:
        super().__init__(clients)
        self.runs: list[tuple[datetime, str]] = []

    def metric(self, name: str, *, function: str | None, statistic: str, start: int, end: int) -> float | None:
        inside = [kind for at, kind in self.runs if start <= at.timestamp() * 1000 < end]
        return float(sum(1 for kind in inside if name == "Invocations" or name == kind)) if inside else None


@pytest.fixture
def counted(captures: Captures) -> tuple[Captures, CountedInspector, ClockAhead]:
    inspector = CountedInspector(AwsClients("ca-central-1"))
    return Captures(store=captures.store, inspector=inspector), inspector, captures.store.clock  # type: ignore[return-value] - the fixture's own


Counted = tuple[Captures, CountedInspector, ClockAhead]


def test_the_watchdog_keeps_a_state_once_a_run_went_well_on_it(here: Stage, counted: Counted) -> None:
    captures, inspector, clock = counted
    assert watch(captures) == {FUNCTION: Watched.WAITING}
    clock.ahead = timedelta(minutes=5)
    assert watch(captures) == {FUNCTION: Watched.WAITING}
    inspector.runs.append((clock.now() - timedelta(minutes=1), "good"))
    assert watch(captures) == {FUNCTION: Watched.KEPT}
    arn = captures.store.arn_of(FUNCTION)
    assert captures.store.latest(arn).vouched_by == "watchdog"  # type: ignore[union-attr] - it was kept


def test_a_good_run_before_a_change_does_not_vouch_for_the_state_after_it(here: Stage, counted: Counted) -> None:
    captures, inspector, clock = counted
    watch(captures)
    clock.ahead = timedelta(minutes=5)
    inspector.runs.append((clock.now() - timedelta(minutes=2), "good"))
    with reserved(here, 0):
        assert watch(captures) == {FUNCTION: Watched.WAITING}
    assert captures.store.functions() == []


def test_failed_runs_or_an_open_incident_keep_the_watchdog_from_vouching(here: Stage, counted: Counted) -> None:
    captures, inspector, clock = counted
    watch(captures)
    clock.ahead = timedelta(minutes=5)
    inspector.runs += [(clock.now() - timedelta(minutes=1), kind) for kind in ("good", "Errors")]
    assert watch(captures) == {FUNCTION: Watched.TROUBLED}
    inspector.runs.pop()
    assert watch(captures, troubled=everybody) == {FUNCTION: Watched.TROUBLED}
    assert captures.store.functions() == []
    assert watch(captures) == {FUNCTION: Watched.KEPT}


def test_a_state_with_less_in_it_never_replaces_a_fuller_one(
    here: Stage, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    captures, inspector, clock = counted
    full = kept(captures).kept

    def refused(ids: Any) -> Any:
        raise EvidenceUnavailable("security groups: our role may not look")

    monkeypatch.setattr(inspector, "security_groups", refused)
    watch(captures)
    clock.ahead = timedelta(minutes=5)
    inspector.runs.append((clock.now() - timedelta(minutes=1), "good"))
    assert watch(captures) == {FUNCTION: Watched.WAITING}
    assert captures.store.latest(full.function_arn).sha256 == full.sha256  # type: ignore[union-attr] - it was kept
    assert [part["what"] for part in asked(here, captures)["not_read"]] == ["/network/security_groups"]


def test_the_command_captures_lists_shows_and_compares(here: Stage, tmp_path: Path) -> None:
    env = {**here.environment, "AFFIDAVIT_DATA": str(tmp_path / "data")}
    empty = affidavit("baseline", "diff", FUNCTION, env=env)
    assert empty.returncode == 2 and "no known-good state" in empty.stderr
    captured = affidavit("baseline", "capture", FUNCTION, "--anyway", env=env)
    assert captured.returncode == 0 and "kept" in captured.stdout
    assert FUNCTION in affidavit("baseline", "list", env=env).stdout
    assert affidavit("baseline", "diff", FUNCTION, env=env).returncode == 0
    shown = json.loads(affidavit("baseline", "show", FUNCTION, env=env).stdout)
    assert shown["concurrency"] == {"reserved": None}
    with reserved(here, 1):
        differing = affidavit("baseline", "diff", FUNCTION, env=env)
        as_json = affidavit("baseline", "diff", FUNCTION, "--format", "json", env=env)
    assert differing.returncode == 1 and "changed /concurrency/reserved\n  - null\n  + 1" in differing.stdout
    assert json.loads(as_json.stdout)["differences"][0]["now"] == 1
    assert affidavit("baseline", "show", FUNCTION, "--sha256", "0000", env=env).returncode == 2
