"""What a person on call does with an incident, in a real Chromium: follows it, checks it, hands it on."""

import threading
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from affidavit.entrypoints.console.access.login import laptop_link
from tests.browser.chromium import needs_chromium
from tests.browser.console.filled import incident_of, visited, watched
from tests.support.pages.console import ServedConsole, served

pytestmark = needs_chromium


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
            expect(page.locator(".incidents .detail").first).to_contain_text("waiting for the first answer")
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
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/incidents/*")
    page.goto(f"{console.base}/incidents/{incident_of(console)}/evidence/0")
    page.keyboard.press("e")
    page.wait_for_url("**/evidence/1")
    page.keyboard.press("E")
    page.wait_for_url("**/evidence/0")


DROP = """([name, bytes]) => {
    const carried = new DataTransfer(), area = document.querySelector(".drop");
    carried.items.add(new File([new Uint8Array(bytes)], name));
    for (const kind of ["dragover", "drop"])
        area.dispatchEvent(new DragEvent(kind, { dataTransfer: carried, bubbles: true, cancelable: true }));
}"""


def test_what_was_taken_along_is_dropped_and_verified(page: Page, console: ServedConsole) -> None:
    taken = console.browser().get(f"/incidents/{incident_of(console)}/affidavit.zip").content
    page.goto(f"{console.base}/verify")
    page.evaluate(DROP, ["affidavit.zip", list(taken)])
    expect(page.locator(".note.holds")).to_contain_text("3 of 3 claims hold")
    assert page.locator(".claims .reread:not(.fallen)").count() == 3


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
