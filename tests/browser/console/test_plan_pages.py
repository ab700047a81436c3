"""Plans in a real Chromium: from an incident to a repair that is proven and undone."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

from playwright.sync_api import Browser, expect

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.workload.state_inspector import AwsStateInspector
from affidavit.evidence.diagnosis import FaultType
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.incidents.incident import Incident
from affidavit.known_good.store import KnownGoodStore
from affidavit.remediation.record.check import broken_record
from affidavit.remediation.sources.argument_source_lookup import RecordedSources
from affidavit.sandbox.sandbox import Sandbox
from tests.browser.chromium import needs_chromium
from tests.browser.console.filled import visited, watched
from tests.support.investigations.incidents import an_incident
from tests.support.pages.console_plans import PlanRoom, plan_room
from tests.support.repairing.repaired_function import make_function
from tests.support.repairing.repairs import Workshop, a_workshop

pytestmark = needs_chromium


def throttled(room: PlanRoom, function: str) -> Incident:
    """A diagnosed incident of the function, as the sandbox's CloudTrail tells its story: in real time."""
    bench, subject = room.workshop.bench, Subject(kind=SubjectKind.FUNCTION, id=function)
    later = datetime.now(UTC) + timedelta(minutes=1)
    fields = {"account": "000000000000", "subject": subject, "resources": (function,), "occurred_at": later}
    incident = an_incident(f"inc-{uuid4().hex[:8]}", **fields)
    bench.supervisor.receive(incident, remaining=timedelta(minutes=5))
    context = bench.contexts.get_context(incident.incident_id)
    assert context is not None and context.diagnosis is not None
    room.console.rewritten(incident, context.diagnosis.model_copy(update={"fault_types": (FaultType.THROTTLING,)}))
    return incident


def recorded(workshop: Workshop, sandbox: Sandbox) -> RecordedSources:
    store = KnownGoodStore(objects=workshop.bench.objects, table=workshop.plans.table, clock=workshop.clock)
    return RecordedSources(store=store, inspector=AwsStateInspector(AwsClients(sandbox.region)))


def test_a_repair_is_proposed_approved_by_another_executed_and_undone(
    browser: Browser, tmp_path: Path, sandbox: Sandbox, aws_environment: dict[str, str]
) -> None:
    function, client = make_function(sandbox, f"orders-{uuid4().hex[:8]}"), sandbox.client("lambda")

    def reserved() -> int | None:
        return client.get_function_concurrency(FunctionName=function).get("ReservedConcurrentExecutions")

    for count in (5, 0):
        client.put_function_concurrency(FunctionName=function, ReservedConcurrentExecutions=count)
    workshop = a_workshop(tmp_path, sandbox)
    workshop.runs.good, workshop.sources = 0, recorded(workshop, sandbox)
    with plan_room(tmp_path, workshop, has_executor=True) as room:
        incident = throttled(room, function)
        for page in watched(visited(browser, room.console, name="olga@example.com"), room.console):
            page.goto(f"{room.console.base}/incidents/{incident.incident_id}")
            page.get_by_role("button", name="Propose a repair").click()
            expect(page.locator("h1")).to_have_text(f"lambda.concurrency.restore on {function}")
        for page in watched(visited(browser, room.console, name="alice@example.com"), room.console):
            page.goto(room.console.base)
            page.get_by_role("link", name="Approvals 1 waiting").click()
            page.locator(".incidents .cause").click()
            assert '"reserved": 5' in page.locator(".diff .added").inner_text()
            page.get_by_label("characters of the seal").fill(page.locator(".seal-end").inner_text())
            page.get_by_role("button", name="Approve and start").click()
            expect(page.locator("#plan-record")).to_contain_text("read back", timeout=20_000)
            expect(page.locator("#plan-record [role=status]")).to_contain_text("action 1 is worked on")
            assert reserved() == 5
            workshop.runs.good = 1
            expect(page.locator(".answer .state.done")).to_have_text("■PROVEN", timeout=20_000)
            page.get_by_role("button", name="Undo it").click()
            expect(page.locator(".answer .state.done")).to_have_text("■UNDONE", timeout=20_000)
            assert reserved() == 0
            plan_id = page.url.rpartition("/")[2].partition("?")[0]
            assert list(broken_record(workshop.plans, plan_id)) == []
