"""What a hostile log or another site cannot do to the console in a real Chromium."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.chromium import needs_chromium
from tests.browser.console.filled import incident_of, visited
from tests.support.pages.console import ServedConsole

pytestmark = needs_chromium


def test_hostile_text_breaks_no_page_and_no_policy(page: Page, console: ServedConsole) -> None:
    for path in ("/", "/incidents/hostile", *(f"/incidents/hostile/evidence/{n}" for n in (0, 50, 99))):
        page.goto(f"{console.base}{path}")
        page.wait_for_load_state("networkidle")
        assert page.evaluate("typeof window.pwned") == "undefined"
        assert page.locator("main img, main iframe, main script, main object, main svg").count() == 0


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
