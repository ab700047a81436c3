"""Who sees a page and who may send a form: logins, sessions, roles, other sites, other names."""

import re
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from tests.support.clock import FakeClock
from tests.support.pages.console import ServedConsole, served

from affidavit.entrypoints.console.access.login import laptop_link
from affidavit.entrypoints.console.access.person import PersonRole
from affidavit.entrypoints.console.access.same_origin import local_path
from affidavit.entrypoints.console.access.sessions import LIFETIME
from affidavit.entrypoints.console.routes import pages
from affidavit.settings import Settings

PAGES = pages(Settings())
# Written out here: a policy that is compared with itself could say anything.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


def filled(path: str) -> str:
    return re.sub(r"\{\w+:int\}", "0", re.sub(r"\{\w+(:path)?\}", "x", path))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.methods[0]} {page.path}")
def test_no_page_is_shown_without_a_session(console: ServedConsole, page) -> None:
    for headers in ({}, {"Authorization": "Bearer the-key-of-an-agent"}, {"Cookie": f"{console.cookie}=made-up"}):
        answer = httpx.request(page.methods[0], console.base + filled(page.path), headers=headers)
        if page.methods[0] == "GET":
            assert (answer.status_code, answer.headers["location"][:12]) == (303, "/login?next=")
        else:
            assert answer.status_code == 401


def test_a_link_of_the_laptop_logs_in_once(console: ServedConsole) -> None:
    link = laptop_link(console.desk, console.base)
    first, second = httpx.get(link), httpx.get(link)
    assert (first.status_code, first.headers["location"]) == (303, "/")
    cookie = first.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=lax" in cookie and "path=/" in cookie
    assert (second.status_code, "set-cookie" in second.headers) == (403, False)
    assert "works once" in second.text


def test_a_link_that_is_too_old_opens_nothing(tmp_path: Path) -> None:
    clock = FakeClock()
    with served(tmp_path, clock=clock) as console:
        link = laptop_link(console.desk, console.base)
        clock.pass_by(timedelta(minutes=11))
        assert httpx.get(link).status_code == 403


def test_where_people_log_in_elsewhere_no_link_opens(tmp_path: Path) -> None:
    with served(tmp_path, takes_links=False) as console:
        answer = httpx.get(laptop_link(console.desk, console.base))
        assert "set-cookie" not in answer.headers


def test_a_session_that_somebody_brings_along_is_never_taken_over(console: ServedConsole) -> None:
    planted = console.session(name="mallory")
    answer = httpx.get(laptop_link(console.desk, console.base), headers={"Cookie": f"{console.cookie}={planted}"})
    assert planted not in answer.headers["set-cookie"]
    assert console.desk.sessions.find(planted) is None


def test_a_session_ends_after_twelve_hours_and_when_it_is_revoked(tmp_path: Path) -> None:
    clock = FakeClock()
    with served(tmp_path, clock=clock) as console:
        first, second = console.browser(), console.browser()
        assert [one.get("/").status_code for one in (first, second)] == [200, 200]
        assert len(console.desk.sessions.of("ada")) == 2
        assert console.post(first, "/logout").status_code == 303
        assert first.get("/").status_code == 303
        clock.pass_by(LIFETIME)
        assert second.get("/").status_code == 303


def test_what_is_stored_of_a_session_does_not_open_it(console: ServedConsole) -> None:
    handle = console.desk.sessions.of(console.browser() and "ada")[0].handle
    answer = httpx.get(f"{console.base}/", headers={"Cookie": f"{console.cookie}={handle}"})
    assert answer.status_code == 303


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "http://evil.example"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "this console"},
        {},
    ],
)
def test_a_form_that_another_site_sent_is_refused(console: ServedConsole, headers: dict[str, str]) -> None:
    incident = console.investigated()
    client = console.browser()
    token = console.token(client)
    client.headers.pop("Sec-Fetch-Site")
    headers = {name: value.replace("this console", console.base) for name, value in headers.items()}
    answer = client.post(f"/incidents/{incident.incident_id}/verify", data={"token": token}, headers=headers)
    assert answer.status_code == 403
    assert client.get("/").status_code == 200  # and the person is still logged in


def test_a_form_needs_the_token_of_its_own_session(console: ServedConsole) -> None:
    incident = console.investigated()
    ada, bob = console.browser(), console.browser(name="bob")
    path = f"/incidents/{incident.incident_id}/verify"
    assert ada.post(path, data={"token": console.token(bob)}).status_code == 403
    assert ada.post(path, data={}).status_code == 403
    assert ada.post(path, data={"token": console.token(ada)}).status_code == 303


def test_a_form_by_its_origin_alone_is_taken(console: ServedConsole) -> None:
    client = console.browser()
    client.headers.pop("Sec-Fetch-Site")
    answer = client.post("/logout", data={"token": console.token(client)}, headers={"Origin": console.base})
    assert answer.status_code == 303


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.role is PersonRole.OPERATOR], ids=lambda page: page.path
)
def test_a_viewer_cannot_act(console: ServedConsole, page) -> None:
    client = console.browser(PersonRole.VIEWER)
    answer = client.request(page.methods[0], filled(page.path), data={"token": console.token(client)})
    assert (answer.status_code, "role operator" in answer.text) == (403, True)


def test_a_person_without_a_role_of_ours_sees_nothing(console: ServedConsole) -> None:
    client = console.browser(*())
    console.desk.sessions.end(client.cookies[console.cookie])
    from affidavit.entrypoints.console.access.person import Person, roles_named

    session = console.desk.sessions.start(Person(name="eve", roles=roles_named(["admin", "root"])))
    client.cookies.set(console.cookie, session, domain="127.0.0.1")
    assert client.get("/").status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "[", "evil.example:80"])
def test_a_name_that_is_not_ours_is_not_answered(console: ServedConsole, host: str) -> None:
    client = console.browser()
    assert client.get("/", headers={"Host": host}).status_code in (400, 421)
    assert httpx.get(laptop_link(console.desk, console.base), headers={"Host": host}).status_code in (400, 421)


@pytest.mark.parametrize(
    "wanted",
    [
        "//evil.example",
        "/\\evil.example",
        "https://evil.example",
        "javascript:alert(1)",
        "/\r\nX: y",
        "evil",
        "/login",
        "",
    ],
)
def test_after_the_login_nobody_is_sent_elsewhere(console: ServedConsole, wanted: str) -> None:
    assert local_path(wanted) == "/"
    answer = httpx.get(laptop_link(console.desk, console.base), params={"next": wanted, "token": "x"})
    assert "location" not in answer.headers
    link = laptop_link(console.desk, console.base)
    answer = httpx.get(httpx.URL(link).copy_merge_params({"next": wanted}))
    assert answer.headers["location"] == "/"


def test_after_the_login_the_wanted_page_is_shown(console: ServedConsole) -> None:
    link = laptop_link(console.desk, console.base)
    answer = httpx.get(httpx.URL(link).copy_merge_params({"next": "/incidents/a?x=1"}))
    assert answer.headers["location"] == "/incidents/a?x=1"


@pytest.mark.parametrize("path", ["/", "/nowhere", "/login", "/static/console.css", "/health", "/incidents/none"])
def test_every_answer_tells_the_browser_what_to_refuse(console: ServedConsole, path: str) -> None:
    answer = console.browser().get(path)
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    if not path.startswith("/static"):
        assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "name",
    ["../app.py", "..%2fapp.py", "%2e%2e/app.py", "console.css/..", "htmx.min.js%00", "/etc/passwd", "__init__.py"],
)
def test_static_files_are_those_of_the_list_and_no_others(console: ServedConsole, name: str) -> None:
    assert httpx.get(f"{console.base}/static/{name}").status_code == 404


def test_a_long_form_is_refused_before_it_is_read(console: ServedConsole) -> None:
    client = console.browser()
    answer = client.post("/logout", data={"token": "x" * 100_000})
    assert answer.status_code == 413


def test_what_people_do_is_logged_with_who(console: ServedConsole) -> None:
    incident = console.investigated()
    console.post(console.browser(name="grace"), f"/incidents/{incident.incident_id}/verify")
    action = console.desk.actions.latest(1)[0]
    assert (action.who, action.what, action.of) == ("grace", "verified", f"{incident.incident_id}: 1 of 1 hold")
