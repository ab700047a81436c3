"""Plans in a real Chromium: from an incident to a repair that is proven and undone."""

from pathlib import Path
from uuid import uuid4

from playwright.sync_api import Browser, expect

from affidavit.remediation.plan.records import Symptom
from affidavit.remediation.record.check import broken_record
from affidavit.sandbox.laptop import Sandbox
from tests.browser.chromium import needs_chromium
from tests.browser.console.filled import visited, watched
from tests.support.console_plans import plan_room
from tests.support.remediation import a_subject
from tests.support.repaired_function import make_function
from tests.support.repairs import a_workshop, arn_of

pytestmark = needs_chromium


def test_a_plan_is_approved_executed_and_undone(
    browser: Browser, tmp_path: Path, sandbox: Sandbox, aws_environment: dict[str, str]
) -> None:
    function, client = make_function(sandbox, f"orders-{uuid4().hex[:8]}"), sandbox.client("lambda")

    def reserved() -> int | None:
        return client.get_function_concurrency(FunctionName=function).get("ReservedConcurrentExecutions")

    client.put_function_concurrency(FunctionName=function, ReservedConcurrentExecutions=0)
    workshop = a_workshop(tmp_path, sandbox)
    workshop.runs.good, action = 0, workshop.action("lambda.concurrency.restore", arn_of(function), {"reserved": 5})
    symptom = Symptom(subject=a_subject(function), window_seconds=900)
    row = workshop.awaiting(workshop.plan(action, symptom=symptom))
    with plan_room(tmp_path, workshop, has_executor=True) as room:
        context = visited(browser, room.console, name="alice@example.com")
        for page in watched(context, room.console):
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
            assert list(broken_record(workshop.plans, row.plan_id)) == []
