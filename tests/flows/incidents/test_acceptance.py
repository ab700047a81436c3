"""Faults of a real workload, told by its own report or an alarm, diagnosed by other processes over real HTTP."""

from collections.abc import Iterator

import pytest
from tests.support.investigations.acceptance import Scene, scene
from tests.support.peers.topics import subscribed

from affidavit.agent.rules import best_so_far
from affidavit.evidence.diagnosis import Diagnosis
from affidavit.incidents.store.state import IncidentState, Status
from affidavit.incidents.store.stored_diagnoses import IncidentContext
from affidavit.sandbox.account.function_account import FUNCTION
from affidavit.verification.ledger_entry import make_entry
from affidavit.verification.pointer_check import verify
from affidavit.workloads.questions import Workloads
from affidavit.workloads.wire import TOOL_ARG_SCHEMAS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with scene(tmp_path_factory.mktemp("sandbox"), has_servers=True) as made:
        assert made.runs() == ["ok"]
        yield made


@pytest.fixture
def here(shared: Scene) -> Iterator[Scene]:
    yield shared
    shared.heal()


def proven(here: Scene, ended: tuple[IncidentState, IncidentContext]) -> Diagnosis:
    """The stored diagnosis, verified anew from the stored answers alone; rules see the same faults in them."""
    state, context = ended
    assert state.status is Status.DIAGNOSED, (state.error_reason, here.log())
    assert context.diagnosis is not None
    entries = here.supervisor.records.entries(context.ledger)
    assert verify(context.diagnosis, entries).holds
    by_rules = best_so_far(entries)
    assert by_rules is not None
    assert kinds(by_rules) == kinds(context.diagnosis)
    assert all(step.evidence_basis for step in by_rules.remediation_plan)
    return context.diagnosis


def kinds(diagnosis: Diagnosis) -> set[str]:
    return {kind.value for kind in diagnosis.fault_types}


def test_a_healthy_function_is_not_given_a_fault(here: Scene) -> None:
    workloads = Workloads(inspector=here.target, clock=here.app.clock, functions=None)
    asked = {"lambda_name": FUNCTION}
    entries = [make_entry(tool, tool, asked, workloads.answer(tool, asked)) for tool in sorted(TOOL_ARG_SCHEMAS)]
    diagnosis = best_so_far(entries)
    assert diagnosis is None or diagnosis.fault_types == ()


def test_a_revoked_s3_policy_is_named_proven_by_the_role_cited_by_the_plan_and_people_are_told(here: Scene) -> None:
    before, people = here.seen(), subscribed(here.path.sandbox, here.app.settings.alert_topic_arn)
    here.breaks("revoke s3")
    assert here.runs() == ["failed"]
    ended = here.ended(after=before)
    diagnosis = proven(here, ended)
    notice = people.received(of=ended[0].incident.incident_id)
    assert notice["Subject"].startswith("[DIAGNOSED] data-processor: ")
    assert notice["Message"].startswith(diagnosis.root_cause)
    assert kinds(diagnosis) == {"permission_loss"}
    assert "s3:GetObject" in diagnosis.root_cause
    of_the_role = {place for place, pointer in enumerate(diagnosis.evidence) if pointer.tool == "get_iam_state"}
    assert of_the_role
    assert any(of_the_role & set(step.evidence_basis) for step in diagnosis.remediation_plan)


def test_a_revoked_cloudwatch_policy_is_named(here: Scene) -> None:
    before = here.seen()
    here.breaks("revoke cloudwatch")
    assert here.runs() == ["failed"]
    diagnosis = proven(here, here.ended(after=before))
    assert kinds(diagnosis) == {"permission_loss"}
    assert "cloudwatch:PutMetricData" in diagnosis.root_cause


def test_when_both_policies_are_gone_both_are_reported(here: Scene) -> None:
    before = here.seen()
    here.breaks("revoke both")
    assert here.runs() == ["failed"]
    diagnosis = proven(here, here.ended(after=before))
    assert kinds(diagnosis) == {"permission_loss"}
    assert "s3:GetObject" in diagnosis.root_cause
    assert "cloudwatch:PutMetricData" in diagnosis.root_cause


@pytest.mark.parametrize("to", [0, 1])
def test_a_throttled_function_that_cannot_report_itself_is_diagnosed_from_its_alarm(here: Scene, to: int) -> None:
    here.breaks(f"throttle {to}")
    # On a busy machine the calls of one round may come one after the other.
    assert any("throttled" in here.runs(at_once=6) for _ in range(10))
    diagnosis = proven(here, here.ended(named=here.alarm("Throttles")))
    assert kinds(diagnosis) == {"throttling"}
    assert f"reserved concurrency of data-processor is {to}" in diagnosis.root_cause.lower()


@pytest.mark.parametrize(("method", "word"), [("egress", "egress"), ("nacl", "acl")])
def test_a_blocked_network_is_diagnosed_though_the_workload_cannot_tell_anybody(
    here: Scene, method: str, word: str
) -> None:
    before = here.seen()
    here.breaks(f"network {method}")
    assert here.runs() == ["failed"]
    diagnosis = proven(here, here.ended(named=here.alarm("Errors")))
    assert kinds(diagnosis) == {"network_block"}
    assert word in diagnosis.root_cause.lower()
    assert not [name for name in here.seen() - before if name.startswith("data-processor-")]


def test_of_two_faults_at_once_both_are_reported(here: Scene) -> None:
    before = here.seen()
    here.breaks("revoke s3")
    here.breaks("throttle 1")
    assert any({"failed", "throttled"} <= set(here.runs(at_once=6)) for _ in range(10))
    diagnosis = proven(here, here.ended(after=before))
    assert kinds(diagnosis) == {"permission_loss", "throttling"}
