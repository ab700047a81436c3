"""The console in a real Chromium: what a person on call does with it, and what a hostile log or site cannot."""

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from affidavit.entrypoints.console.access.login import laptop_link
from affidavit.evaluation.generator import BundleSpec, Form, Layout, generate, write
from affidavit.nodes.library.keys import prefix_of
from affidavit.remediation.plan.records import Symptom
from affidavit.remediation.record.check import broken_record
from affidavit.sandbox.laptop import Sandbox
from tests.browser.test_report_page import ARGUMENTS, CHROMIUM
from tests.support.console import ServedConsole, served
from tests.support.console_plans import awaiting_plan, plan_room
from tests.support.diagnoses import a_diagnosis, a_pointer
from tests.support.hostile_text import hostile_texts
from tests.support.incidents import MESSAGE
from tests.support.remediation import a_plan, a_subject, an_action
from tests.support.repaired_function import make_function
from tests.support.repairs import a_workshop, arn_of

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH; set AFFIDAVIT_CHROMIUM to its path")
AXE = Path("build/axe").absolute()
SCREENSHOTS = os.environ.get("AFFIDAVIT_SCREENSHOTS", "")
SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedConsole]:
    """A function's incident, a node's bundle, and an incident whose every text is hostile."""
    folder = tmp_path_factory.mktemp("console")
    archive = write(generate(BundleSpec(layout=Layout.AL2023, faults=("oom", "dns"))), folder, Form.TAR_GZ)
    with served(folder / "data") as console:
        client = console.browser()
        with archive.open("rb") as file:
            client.post("/hand-in", data={"token": console.token(client)}, files={"file": (archive.name, file)})
        console.concluded()
        texts = hostile_texts()
        pointers = [a_pointer("get_recent_logs", "/events/0/message", MESSAGE, text[:4000]) for text in texts[:100]]
        diagnosis = a_diagnosis(*pointers).model_copy(update={"gaps": tuple(texts[100:200]), "root_cause": texts[0]})
        console.rewritten(console.investigated(name="hostile", message=texts[1], error_type="Other"), diagnosis)
        a_waiting_plan(console)
        yield console


def a_waiting_plan(console: ServedConsole) -> None:
    now, incident = console.desk.app.clock.now(), console.investigated(name="repairable")
    fields = {"incident_id": incident.incident_id, "created_at": now, "expires_at": now + timedelta(hours=1)}
    awaiting_plan(console.desk.plans, a_plan(an_action(), **fields))


@pytest.fixture
def page(browser: Browser, console: ServedConsole) -> Iterator[Page]:
    context = visited(browser, console)
    yield from watched(context, console)


def visited(browser: Browser, console: ServedConsole, *, name: str = "ada", **options: object) -> BrowserContext:
    context = browser.new_context(**{"viewport": {"width": 1400, "height": 900}, **options})
    context.add_cookies([{"name": console.cookie, "value": console.session(name=name), "url": console.base}])
    return context


def watched(context: BrowserContext, console: ServedConsole) -> Iterator[Page]:
    """A page that must stay without errors, refused content and dialogs, and must ask nobody else."""
    page, troubles = context.new_page(), list[str]()
    page.on("console", lambda message: troubles.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("dialog", lambda dialog: (troubles.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda asked: None if asked.url.startswith(console.base) else troubles.append(asked.url))
    yield page
    context.close()
    assert troubles == []


def incident_of(console: ServedConsole) -> str:
    listed = console.desk.listing.page(_all(), now=console.desk.app.clock.now()).listed
    return next(one.state.incident_id for one in listed if one.state.incident_id.startswith("data-processor"))


def _all():
    from affidavit.incidents.reading.listing import IncidentFilter

    return IncidentFilter()


def node_of(console: ServedConsole) -> str:
    return next(iter(console.desk.library.instances()))


def every_page(console: ServedConsole) -> dict[str, str]:
    incident, node = incident_of(console), node_of(console)
    return {
        "incidents": "/",
        "incident": f"/incidents/{incident}",
        "evidence": f"/incidents/{incident}/evidence/0",
        "hostile": "/incidents/hostile",
        "nodes": "/nodes",
        "log": f"/logs/{prefix_of(node)}/extracted/kernel/dmesg.human.current?from=190",
        "fleet": "/fleet",
        "approvals": "/approvals",
        "plan": "/plans/plan-1",
        "report": f"/nodes/{node}/{console.desk.library.find(node).index_id}",
        "verify": "/verify",
        "settings": "/settings",
        "hand-in": "/hand-in",
        "empty": "/?q=nothing-like-this",
        "error": "/incidents/none",
    }


def test_a_link_of_the_command_opens_the_console(browser: Browser, console: ServedConsole) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(laptop_link(console.desk, console.base))
    assert page.url == f"{console.base}/"
    assert page.locator(".incidents > li").count() >= 2
    context.close()


def test_an_investigation_is_followed_live_to_its_diagnosis(browser: Browser, tmp_path: Path) -> None:
    gate = threading.Semaphore(0)
    with served(tmp_path) as console:
        working = threading.Thread(target=console.concluded, args=("network-egress-removed", gate.acquire))
        working.start()
        for page in watched(visited(browser, console), console):
            page.goto(console.base)
            while not page.locator(".state.work").count():
                page.reload()
            page.locator(".incidents .cause").first.click()
            expect(page.locator("h1")).to_contain_text("is being investigated")
            expect(page.locator("#live")).to_contain_text("waiting for the first answer")
            assert page.locator("#journal > li").count() == 0
            gate.release(50)
            expect(page.locator("#journal > li")).to_have_count(5, timeout=30_000)
            expect(page.locator(".state.done")).to_have_text("■DIAGNOSED", timeout=30_000)
            expect(page.locator("h1")).to_contain_text("egress of security group")
            expect(page.locator("#reread")).to_contain_text("2/2 re-read")
        working.join(30)


def test_from_a_claim_to_the_lit_value_in_the_recorded_answer(page: Page, console: ServedConsole) -> None:
    page.goto(f"{console.base}/incidents/{incident_of(console)}")
    page.locator("#claim-1 a").click()
    assert page.locator("mark").all_inner_texts() == ["implicitDeny"]
    assert "sha256" in page.locator(".digest").last.inner_text()


def test_from_a_finding_to_the_lit_bytes_of_its_line(page: Page, console: ServedConsole) -> None:
    page.goto(f"{console.base}{every_page(console)['log']}")
    lit = page.locator("li.cited mark").first
    expect(lit).to_contain_text("invoked oom-killer")
    page.locator("li.cited .n").first.click()
    number = page.locator("li.cited .n").first.inner_text()
    assert page.url.endswith(f"#L{number}")
    expect(page.locator("li.wanted")).to_have_count(1)
    page.locator("li.cited .n").nth(1).click(modifiers=["Shift"])
    assert "-L" in page.url and page.locator("li.wanted").count() > 1


def test_a_link_to_lines_outside_the_window_brings_them(page: Page, console: ServedConsole) -> None:
    path = every_page(console)["log"].partition("?")[0]
    page.goto(f"{console.base}{path}#L230-L232")
    expect(page.locator("li.wanted")).to_have_count(3)
    expect(page.locator("#L230")).to_be_in_viewport()


def test_verify_after_a_byte_was_changed_shows_which_claim_fell(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as console:
        name = console.concluded()
        for page in watched(visited(browser, console), console):
            page.goto(f"{console.base}/incidents/{name}")
            page.get_by_role("button", name="Verify now").click()
            expect(page.locator("#reread")).to_contain_text("3/3 re-read")
            answer = next(
                file for file in tmp_path.rglob("answers/*.json") if "simulated_decisions" in file.read_text()
            )
            answer.chmod(0o600)
            answer.write_text(answer.read_text().replace("implicitDeny", "implicitDenz"))
            page.keyboard.press("v")
            expect(page.get_by_role("alert")).to_contain_text("no longer holds")
            expect(page.locator("#claim-1 .note.fallen")).to_contain_text("was changed after it was written")
            assert page.locator("#claim-0 .note.fallen").count() == 0


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
            kept(page, "plan-waiting")
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
            kept(page, "plan-undone-1400-light")


def test_a_shared_link_dies_when_it_is_revoked(page: Page, browser: Browser, console: ServedConsole) -> None:
    page.goto(f"{console.base}/incidents/{incident_of(console)}")
    page.get_by_role("button", name="Make a link").click()
    link = page.locator("#link").inner_text()
    stranger = browser.new_page()
    stranger.goto(link)
    assert "is denied" in stranger.locator("h1").inner_text()
    page.get_by_text("Back; there it can be revoked").click()
    page.get_by_role("button", name="Revoke").click()
    stranger.reload()
    assert "this link shows nothing" in stranger.locator("main").inner_text()
    stranger.close()


def test_hostile_text_breaks_no_page_and_no_policy(page: Page, console: ServedConsole) -> None:
    for path in ("/", "/incidents/hostile", *(f"/incidents/hostile/evidence/{n}" for n in (0, 50, 99))):
        page.goto(f"{console.base}{path}")
        page.wait_for_load_state("networkidle")
        assert page.evaluate("typeof window.pwned") == "undefined"
        assert page.locator("main img, main iframe, main script, main object, main svg").count() == 0


def test_keys_move_open_search_and_help(page: Page, console: ServedConsole) -> None:
    page.goto(console.base)
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator(".incidents > li").nth(1)).to_have_class("current")
    page.keyboard.press("k")
    page.keyboard.press("?")
    expect(page.locator("#keys-help")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()
    page.goto(f"{console.base}/incidents/{incident_of(console)}/evidence/0")
    page.keyboard.press("e")
    page.wait_for_url("**/evidence/1")
    page.keyboard.press("E")
    page.wait_for_url("**/evidence/0")


def test_the_served_report_works_under_the_policy(page: Page, console: ServedConsole) -> None:
    page.goto(f"{console.base}/nodes/{node_of(console)}")
    expect(page.locator("#list > .finding").first).to_be_visible()
    page.locator("#list .summary").first.click()
    expect(page.locator(".log .evidence").first).to_be_visible()
    page.locator("#timeline .finding-bar").first.hover(force=True)


def test_pages_work_without_script(browser: Browser, console: ServedConsole) -> None:
    context = visited(browser, console, java_script_enabled=False)
    page = context.new_page()
    page.goto(console.base)
    page.locator(".incidents .cause", has_text="is denied").first.click()
    page.get_by_role("button", name="Verify now").click()
    assert "3/3 re-read" in page.locator("#reread").inner_text()
    page.locator("#claim-0 a").click()
    assert page.locator("mark").count() == 1
    context.close()


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (1400, "dark"), (360, "light")])
def test_nothing_leaves_the_page_at_any_width(
    browser: Browser, console: ServedConsole, width: int, scheme: str
) -> None:
    context = visited(browser, console, viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    for name, path in every_page(console).items():
        page.goto(f"{console.base}{path}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        kept(page, f"{name}-{width}-{scheme}")
    context.close()


def test_paper_shows_everything_and_no_buttons(browser: Browser, console: ServedConsole) -> None:
    context = visited(browser, console)
    page = context.new_page()
    for name in ("incident", "plan", "approvals", "evidence"):
        page.goto(f"{console.base}{every_page(console)[name]}")
        page.emulate_media(media="print")
        assert page.locator("main button:visible, .top nav:visible").count() == 0
        kept(page, f"{name}-print")
    context.close()


def test_a_new_user_finds_the_cause_its_proof_the_step_and_what_is_not_known(
    page: Page, console: ServedConsole
) -> None:
    """By reading and clicking alone: the cause without a click, everything else at most two clicks away."""
    page.goto(console.base)
    cause = page.locator(".incidents .cause", has_text="is denied").first
    assert "no policy of data-processor-role allows it" in cause.inner_text()
    cause.click()
    assert page.locator("dt:has-text('First step') + dd strong").inner_text()
    page.get_by_role("link", name="AWS denied s3:GetObject").click()
    assert "AccessDenied" in page.locator("mark").first.inner_text()
    page.go_back()
    assert page.locator("dt:has-text('Not known') + dd").inner_text() == "nothing was recorded"
    page.goto(f"{console.base}/incidents/hostile")
    page.locator("dt:has-text('Not known') + dd a").click()
    expect(page.locator("#unknown")).to_be_in_viewport()
    assert page.locator("section[aria-labelledby=unknown] li").count() > 0


def kept(page: Page, name: str) -> None:
    if SCREENSHOTS:
        page.screenshot(path=f"{SCREENSHOTS}/{name}.png", full_page=True)


@pytest.fixture(scope="module")
def axe() -> str:
    script = AXE / "package" / "axe.min.js"
    if not script.exists():
        AXE.mkdir(parents=True, exist_ok=True)
        if shutil.which("npm") is None:
            pytest.skip("no npm on PATH: axe-core is fetched with it")
        done = subprocess.run(["npm", "pack", "--silent", "axe-core@4.14.0"], cwd=AXE, capture_output=True, timeout=120)
        if done.returncode:
            pytest.skip("axe-core cannot be fetched: no package registry")
        subprocess.run(["tar", "xzf", "axe-core-4.14.0.tgz", "package/axe.min.js"], cwd=AXE, check=True)
    return script.read_text("utf-8")


def test_axe_finds_nothing_serious(browser: Browser, console: ServedConsole, axe: str) -> None:
    """Every page, the served report among them: light and dark, and as a phone shows it."""
    context = visited(browser, console)
    page, found = context.new_page(), list[str]()
    for name, path in every_page(console).items():
        page.set_viewport_size({"width": 1400, "height": 900})
        page.emulate_media(color_scheme="light")
        page.goto(f"{console.base}{path}")
        page.evaluate(axe)
        for scheme, width in (("light", 1400), ("dark", 1400), ("dark", 360)):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
            bad = [one for one in result["violations"] if one["impact"] in SERIOUS]
            found += [
                f"{name} {scheme} {width}: {one['id']} {json.dumps(one['nodes'][0]['target'])} "
                f"{one['nodes'][0]['failureSummary']}"
                for one in bad
            ]
    context.close()
    assert found == []


# --- other sites -----------------------------------------------------------------------------------------------------


@pytest.fixture
def other_site(console: ServedConsole) -> Iterator[Callable[[str], str]]:
    """Serves a page of another origin, which a logged-in person opens."""
    shown = {"html": ""}

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(shown["html"].encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
            pass

    site = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, args=(0.05,), daemon=True).start()

    def serve(html: str) -> str:
        shown["html"] = html
        return f"http://localhost:{site.server_address[1]}/"

    yield serve
    site.shutdown()
    site.server_close()


def test_another_site_cannot_frame_the_console(browser: Browser, console: ServedConsole, other_site) -> None:
    context = visited(browser, console)
    page = context.new_page()
    page.goto(other_site(f'<iframe src="{console.base}/"></iframe>'))
    page.wait_for_timeout(300)
    frames = [frame for frame in page.frames if frame != page.main_frame]
    assert all("Incidents" not in (frame.content() if frame.url.startswith("http") else "") for frame in frames)
    context.close()


def test_another_site_cannot_send_a_form(browser: Browser, console: ServedConsole, other_site) -> None:
    context = visited(browser, console)
    page, name = context.new_page(), incident_of(console)
    before = len(console.desk.shares.of(name))
    page.goto(
        other_site(
            f'<form method="post" action="{console.base}/incidents/{name}/share"><button name="span" value="1h">'
        )
    )
    page.locator("button").click()
    page.wait_for_load_state()
    assert "Log in" in page.title() or "not logged in" in page.content() or "another site" in page.content()
    assert len(console.desk.shares.of(name)) == before
    context.close()
