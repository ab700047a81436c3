"""Handing an incident on: links that end, and a zip that anybody can check."""

import io
import json
import re
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from tests.support.clock import FakeClock
from tests.support.pages.console import ServedConsole, served

from affidavit.incidents.export.cassette import cassette_from_json
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.store.state import state_key
from affidavit.ports.table import Update


def shared(console: ServedConsole, span: str = "24h", name: str = "inc-1") -> str:
    client = console.browser()
    page = console.post(client, f"/incidents/{name}/share", span=span).text
    return page.partition('id="link">')[2].partition("<")[0]


def test_a_link_shows_the_incident_without_a_login_and_dies_when_revoked(console: ServedConsole) -> None:
    console.investigated()
    link = shared(console)
    assert "the role lost its S3 policy" in httpx.get(link).text
    handle = console.desk.shares.of("inc-1")[0].handle
    assert console.post(console.browser(), "/incidents/inc-1/unshare", handle=handle).status_code == 303
    assert httpx.get(link).status_code == 404
    whats = [action.what for action in console.desk.actions.latest(9)]
    assert {"shared", "was opened", "revoked a link"} <= set(whats)


def test_a_link_ends_by_itself(tmp_path: Path) -> None:
    clock = FakeClock()
    with served(tmp_path, clock=clock) as console:
        console.investigated()
        link = shared(console, "1h")
        clock.pass_by(timedelta(minutes=59))
        assert httpx.get(link).status_code == 200
        clock.pass_by(timedelta(minutes=1))
        assert httpx.get(link).status_code == 404


def test_a_link_opens_nothing_but_its_incident(console: ServedConsole) -> None:
    console.investigated()
    link = shared(console)
    page = httpx.get(link)
    assert "set-cookie" not in page.headers
    assert 'href="/incidents' not in page.text and "<form" not in page.text
    assert httpx.get(f"{link}/evidence/0").status_code == 404
    assert httpx.get(f"{console.base}/s/{console.desk.shares.of('inc-1')[0].handle}").status_code == 404


def test_a_link_of_one_incident_is_not_revoked_under_another(console: ServedConsole) -> None:
    console.investigated()
    link = shared(console)
    handle = console.desk.shares.of("inc-1")[0].handle
    assert console.post(console.browser(), "/incidents/inc-2/unshare", handle=handle).status_code == 404
    assert httpx.get(link).status_code == 200


@pytest.mark.parametrize("span", ["", "10y", "-1h"])
def test_a_link_lives_for_one_of_the_offered_times(console: ServedConsole, span: str) -> None:
    console.investigated()
    assert console.post(console.browser(), "/incidents/inc-1/share", span=span).status_code == 400


def test_personal_data_is_hidden_behind_a_link(console: ServedConsole) -> None:
    console.investigated(message="mail of jane.doe@example.com failed")
    assert "jane.doe@example.com" not in httpx.get(shared(console)).text


def taken_along(console: ServedConsole, name: str) -> dict[str, bytes]:
    answer = console.browser().get(f"/incidents/{name}/affidavit.zip")
    assert answer.headers["content-disposition"] == f'attachment; filename="affidavit-{name}.zip"'
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_zip_holds_report_diagnosis_answers_digests_and_how_to_check(console: ServedConsole) -> None:
    parts = taken_along(console, console.concluded())
    assert sorted(parts) == ["README.txt", "SHA256SUMS", "incident.json", "report.html"]
    assert b"affidavit incident replay incident.json" in parts["README.txt"]
    assert b"no policy of data-processor-role allows it" in parts["report.html"]
    assert b"<script" not in parts["report.html"]
    assert cassette_from_json(parts["incident.json"].decode(), name="x").diagnosis is not None


def test_the_end_of_an_alert_is_one_record_on_the_page_behind_a_link_and_in_the_export(console: ServedConsole) -> None:
    name = console.concluded()
    assert "Alert resolved" not in console.browser().get(f"/incidents/{name}").text
    before = json.loads(taken_along(console, name)["incident.json"])
    assert (before["cassette"], "resolved_at" in before) == (3, False)
    over = {"resolved_at": 1_768_471_260.0}
    console.desk.app.incident_state.write(Update(key=state_key(IncidentId(name)), set=over))
    parts = taken_along(console, name)
    assert cassette_from_json(parts["incident.json"].decode(), name="x").resolved_at == datetime.fromtimestamp(
        1_768_471_260, UTC
    )
    shown = re.search(r"<dt>Alert resolved</dt>(<dd>.*?</dd>)", console.browser().get(f"/incidents/{name}").text)
    assert shown is not None
    assert "2026-01-15" in shown[1]
    assert shown[1] in parts["report.html"].decode()
    assert shown[1] in httpx.get(shared(console, name=name)).text
    assert "3 of 3 claims hold" in verdict_of(console, parts["incident.json"], "incident.json").text


def verdict_of(console: ServedConsole, content: bytes, name: str = "affidavit.zip") -> httpx.Response:
    client = console.browser()
    return client.post("/verify", data={"token": console.token(client)}, files={"file": (name, content)})


def test_a_zip_verifies_and_a_changed_one_does_not(console: ServedConsole) -> None:
    name = console.concluded()
    whole = console.browser().get(f"/incidents/{name}/affidavit.zip").content
    assert "3 of 3 claims hold" in verdict_of(console, whole).text
    told = json.loads(taken_along(console, name)["incident.json"])
    told["diagnosis"]["evidence"][0]["value"] = "AccessDenied: somebody else did it"
    fell = verdict_of(console, json.dumps(told).encode(), "incident.json").text
    assert "1 of 3 claims fell" in fell
    told["answers"][0]["answer"]["log_group"] = "/aws/lambda/other"
    assert "was changed after it was recorded" in verdict_of(console, json.dumps(told).encode(), "x.json").text


def test_a_zip_that_unpacks_without_end_is_refused(console: ServedConsole) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("incident.json", b"0" * (65 << 20))
    answer = verdict_of(console, made.getvalue())
    assert (answer.status_code, "unpacks to more" in answer.text) == (400, True)


def test_a_person_revokes_sessions_of_their_own_alone(console: ServedConsole) -> None:
    ada, bob = console.browser(name="ada"), console.browser(name="bob")
    handle = console.desk.sessions.of("bob")[0].handle
    assert console.post(ada, "/settings/session", handle=handle).status_code == 404
    assert bob.get("/").status_code == 200
    assert console.post(bob, "/settings/session", handle=handle).status_code == 303
    assert bob.get("/").status_code == 303


def test_the_settings_page_tells_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "the-key-of-the-server-0123456789"
    with served(tmp_path, MCP_API_KEY=secret) as console:
        text = console.browser().get("/settings").text
        assert secret not in text and "set, not shown" in text


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"a": 1}', b"[" * 50_000])
def test_what_is_no_alert_is_refused_with_a_reason(console: ServedConsole, content: bytes) -> None:
    client = console.browser()
    answer = client.post("/hand-in", data={"token": console.token(client)}, files={"file": ("a.json", content)})
    assert answer.status_code == 400


def test_a_file_name_cannot_lead_elsewhere(console: ServedConsole) -> None:
    client = console.browser()
    answer = client.post(
        "/hand-in", data={"token": console.token(client)}, files={"file": ("../../../tmp/evil.tar.gz", b"no archive")}
    )
    assert answer.status_code in (400, 422)
    assert not Path("/tmp/evil.tar.gz").exists()


def test_an_alert_that_is_handed_in_opens_as_its_incident(console: ServedConsole) -> None:
    client, alert = console.browser(), {"function_name": "orders", "error_message": "it broke", "incident_id": "inc-9"}
    given = {"file": ("alert.json", json.dumps(alert).encode())}
    answer = client.post("/hand-in", data={"token": console.token(client)}, files=given)
    assert answer.status_code == 303
    assert client.get(answer.headers["location"]).status_code == 200
    assert answer.headers["location"].startswith("/incidents/")
