"""A console that is filled and served for a browser, and people who look at it."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page

from affidavit.evaluation.generator import BundleSpec, Form, Layout, generate, write
from affidavit.incidents.reading.listing import IncidentFilter
from affidavit.nodes.library.object_keys import prefix_of
from tests.support.pages.console import ServedConsole, served
from tests.support.pages.console_plans import awaiting_plan
from tests.support.repairing.remediation import a_plan, an_action


@contextmanager
def filled_console(folder: Path) -> Generator[ServedConsole]:
    """A function's incident, a node's bundle that was handed in, and a plan that waits."""
    archive = write(generate(BundleSpec(layout=Layout.AL2023, faults=("oom", "dns"))), folder, Form.TAR_GZ)
    with served(folder / "data") as console:
        client = console.browser()
        with archive.open("rb") as file:
            client.post("/hand-in", data={"token": console.token(client)}, files={"file": (archive.name, file)})
        console.concluded()
        _a_waiting_plan(console)
        yield console


def _a_waiting_plan(console: ServedConsole) -> None:
    now, incident = console.desk.app.clock.now(), console.investigated(name="repairable")
    fields = {"incident_id": incident.incident_id, "created_at": now, "expires_at": now + timedelta(hours=1)}
    awaiting_plan(console.desk.plans, a_plan(an_action(), **fields))


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
    listed = console.desk.listing.page(IncidentFilter(), now=console.desk.app.clock.now()).listed
    return next(one.state.incident_id for one in listed if one.state.incident_id.startswith("data-processor"))


def node_of(console: ServedConsole) -> str:
    return next(iter(console.desk.library.instances()))


def every_page(console: ServedConsole) -> dict[str, str]:
    incident, node = incident_of(console), node_of(console)
    return {
        "incidents": "/",
        "incident": f"/incidents/{incident}",
        "evidence": f"/incidents/{incident}/evidence/0",
        "nodes": "/nodes",
        "report": f"/nodes/{node}/{console.desk.library.find(node).index_id}",
        "log": f"/logs/{prefix_of(node)}/extracted/kernel/dmesg.human.current?from=190",
        "fleet": "/fleet",
        "approvals": "/approvals",
        "plan": "/plans/plan-1",
        "verify": "/verify",
        "settings": "/settings",
        "hand-in": "/hand-in",
        "empty": "/?q=nothing-like-this",
        "error": "/incidents/none",
    }
