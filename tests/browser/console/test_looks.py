"""How every page looks in a real Chromium: widths, schemes, paper, without script, and to axe."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.chromium import needs_chromium
from tests.browser.console.filled import every_page, visited
from tests.support.pages.console import ServedConsole

pytestmark = needs_chromium
AXE = Path("build/axe").absolute()
SERIOUS = ("serious", "critical")
HOSTILE = {"hostile": "/incidents/hostile"}


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


def test_nothing_leaves_the_page_at_any_width(browser: Browser, console: ServedConsole) -> None:
    context = visited(browser, console)
    page = context.new_page()
    for name, path in (every_page(console) | HOSTILE).items():
        page.goto(f"{console.base}{path}")
        for width in (1400, 360):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, width)
    context.close()


def test_paper_shows_everything_and_no_buttons(browser: Browser, console: ServedConsole) -> None:
    context = visited(browser, console)
    page = context.new_page()
    for name in ("incident", "plan", "approvals", "evidence"):
        page.goto(f"{console.base}{every_page(console)[name]}")
        page.emulate_media(media="print")
        assert page.locator("main button:visible, .top nav:visible").count() == 0
    context.close()


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


@pytest.mark.slow
def test_axe_finds_nothing_serious(browser: Browser, console: ServedConsole, axe: str) -> None:
    """Every page, the served report among them: light and dark, and as a phone shows it."""
    context = visited(browser, console)
    page, found = context.new_page(), list[str]()
    for name, path in (every_page(console) | HOSTILE).items():
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
