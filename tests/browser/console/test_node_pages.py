"""Nodes, their logs and the fleet in a real Chromium."""

from playwright.sync_api import Page, expect

from tests.browser.chromium import needs_chromium
from tests.browser.console.filled import every_page, node_of
from tests.support.pages.console import ServedConsole

pytestmark = needs_chromium


def test_from_a_finding_to_the_lit_bytes_of_its_line(page: Page, console: ServedConsole) -> None:
    page.goto(f"{console.base}{every_page(console)['log']}")
    lit = page.locator("li.cited mark").first
    expect(lit).to_contain_text("invoked oom-killer")
    page.locator("li.cited .n").first.click()
    number = page.locator("li.cited .n").first.inner_text()
    assert page.url.endswith(f"#L{number}")
    expect(page.locator("li.wanted")).to_have_count(1)
    page.locator("li.cited .n").nth(1).click(modifiers=["Shift"])
    expect(page.locator("li.wanted")).not_to_have_count(1)
    assert "-L" in page.url and page.locator("li.wanted").count() > 1


def test_keys_go_from_finding_to_finding_and_find_goes_on(page: Page, console: ServedConsole) -> None:
    page.goto(f"{console.base}{every_page(console)['log'].partition('?')[0]}")
    seen = []
    for key in "eeEe":
        before = page.url
        page.keyboard.press(key)
        page.wait_for_url(lambda url, before=before: url != before)
        seen.append(int(page.url.rpartition("#L")[2]))
    assert seen[0] == seen[2] < seen[1] == seen[3]
    page.keyboard.press("/")
    page.keyboard.type("oom")
    page.keyboard.press("Enter")
    first = page.locator("li.wanted").get_attribute("id")
    page.get_by_role("button", name="Find next").click()
    expect(page.locator("li.wanted")).not_to_have_id(first or "")


def test_a_link_to_lines_outside_the_window_brings_them(page: Page, console: ServedConsole) -> None:
    path = every_page(console)["log"].partition("?")[0]
    page.goto(f"{console.base}{path}#L230-L232")
    expect(page.locator("li.wanted")).to_have_count(3)
    expect(page.locator("#L230")).to_be_in_viewport()


def test_the_served_report_works_under_the_policy(page: Page, console: ServedConsole) -> None:
    page.goto(f"{console.base}/nodes/{node_of(console)}")
    expect(page.locator("#list > .finding").first).to_be_visible()
    page.locator("#list .summary").first.click()
    expect(page.locator(".log .evidence").first).to_be_visible()
    page.locator("#timeline .finding-bar").first.hover(force=True)


def test_a_fault_of_the_fleet_leads_from_its_bar_to_its_finding(page: Page, console: ServedConsole) -> None:
    page.goto(f"{console.base}/fleet")
    page.get_by_role("link", name="common faults").click()
    expect(page.get_by_text("1 index asked")).to_be_visible()
    rows = page.get_by_role("region", name="Answer").locator("tbody tr")
    assert page.locator(".plot rect").count() == rows.count() >= 2
    assert float(page.locator(".plot rect").first.get_attribute("width") or 0) == 100
    row = rows.filter(has_text="OOM killer invoked")
    row.get_by_role("link").click()
    page.wait_for_url("**/nodes/*/*#F-*")
    expect(page.locator(f"#{page.url.rpartition('#')[2]} .body")).to_contain_text("invoked oom-killer")
