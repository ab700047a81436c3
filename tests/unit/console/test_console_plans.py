"""Plans in the console: shown from the sealed bytes, decided by people with the role, never by who proposed."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.support.pages.console_plans import PlanRoom, plan_room
from tests.support.repairing.remediation import an_action
from tests.support.repairing.repairs import a_workshop

from affidavit.entrypoints.console.access.person import PersonRole
from affidavit.incidents.store.state import Status
from affidavit.ports.table import Key, Update
from affidavit.remediation.plan.seal import typed_part
from affidavit.remediation.record.phases import Phase
from affidavit.remediation.record.store import PhaseMove, PlanRow, plan_key

ALICE, BOB = "alice@example.com", "bob@example.com"


@pytest.fixture
def room(tmp_path: Path) -> Iterator[PlanRoom]:
    with plan_room(tmp_path, a_workshop(tmp_path)) as room:
        yield room


def awaiting(room: PlanRoom, **changes: object) -> PlanRow:
    return room.workshop.awaiting(room.workshop.plan(an_action(), **changes))


def sent(
    room: PlanRoom, row: PlanRow, what: str, *roles: PersonRole, name: str = ALICE, **fields: str
) -> tuple[int, str]:
    client = room.console.browser(*(roles or (PersonRole.APPROVER,)), name=name)
    answer = room.console.post(client, f"/plans/{row.plan_id}/{what}", **fields)
    return answer.status_code, answer.text


def phase(room: PlanRoom, row: PlanRow) -> Phase:
    return room.workshop.plans.get(row.plan_id).phase


def test_a_plan_is_shown_with_calls_difference_radius_undo_expiry_and_seal(room: PlanRoom) -> None:
    row = awaiting(room)
    client = room.console.browser(PersonRole.VIEWER)
    listed, page = client.get("/approvals").text, client.get(f"/plans/{row.plan_id}").text
    assert f'href="/plans/{row.plan_id}"' in listed and "0 of 1 approvals" in listed
    for part in (
        "lambda:PutFunctionConcurrency",
        "-  &#34;reserved&#34;: 0",
        "+  &#34;reserved&#34;: 5",
        "function:orders",
        "exact",
        row.seal[:-8],
        typed_part(row.seal),
        "record 3/3 entries re-read",
        "needs the role approver",
    ):
        assert part in page, part
    assert "<form" not in page.partition("<main")[2].partition("</main>")[0]


def test_plans_that_wait_are_counted_in_the_navigation_and_on_the_first_page(room: PlanRoom) -> None:
    row = awaiting(room)
    client = room.console.browser(PersonRole.VIEWER)
    page = client.get("/").text
    assert 'Approvals<span class="badge">1' in page
    assert "Plans waiting</a>: <b>1</b>" in page
    assert f'href="/plans/{row.plan_id}"' in client.get(f"/incidents/{row.incident_id}").text
    room.workshop.clock.pass_by(timedelta(hours=1))
    assert "badge" not in client.get("/").text
    assert "expired" in client.get(f"/plans/{row.plan_id}").text


def test_the_end_of_the_seal_approves_and_nothing_else_does(room: PlanRoom) -> None:
    row = awaiting(room)
    for typed in ("", "00000000", row.seal, row.seal[:8]):
        assert sent(room, row, "approve", seal=typed)[0] == 400
    assert phase(room, row) is Phase.AWAITING
    assert sent(room, row, "approve", seal=f" {typed_part(row.seal)} ")[0] == 303
    assert phase(room, row) is Phase.APPROVED
    approved = room.workshop.plans.record(row.plan_id)[-1]
    assert (approved.by, approved.details["proof"], approved.details["seal"]) == (ALICE, "console", row.seal)
    assert (
        "affidavit remedy run"
        in room.console.browser(PersonRole.APPROVER, name=ALICE).get(f"/plans/{row.plan_id}").text
    )


@pytest.mark.parametrize("role", [PersonRole.VIEWER, PersonRole.OPERATOR])
def test_only_an_approver_decides(room: PlanRoom, role: PersonRole) -> None:
    row = awaiting(room)
    for what in ("approve", "reject", "revoke", "run", "undo"):
        status, text = sent(room, row, what, role, seal=typed_part(row.seal), why="x")
        assert (status, "needs the role approver" in text) == (403, True)
    assert phase(room, row) is Phase.AWAITING


@pytest.mark.parametrize(
    ("proposer", "approver"),
    [
        (ALICE, ALICE),
        (f"arn:aws:sts::000000000000:assumed-role/Engineer/{ALICE}", ALICE),
        ("arn:aws:sts::000000000000:assumed-role/Engineer/Alice@Example.com", ALICE),
    ],
)
def test_who_proposed_cannot_approve_by_any_name(room: PlanRoom, proposer: str, approver: str) -> None:
    row = awaiting(room, created_by=proposer)
    status, text = sent(room, row, "approve", name=approver, seal=typed_part(row.seal))
    assert (status, "proposed this plan" in text) == (400, True)
    assert phase(room, row) is Phase.AWAITING


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("eve@elsewhere.example", "may not approve"),
        ("arn:aws:iam::000000000000:user/alice", "no name of a person"),
        ("alice", "may not approve"),
    ],
)
def test_a_name_that_the_list_does_not_have_or_that_reads_like_an_arn_decides_nothing(
    room: PlanRoom, name: str, words: str
) -> None:
    row = awaiting(room)
    for what in ("approve", "reject", "revoke"):
        status, text = sent(room, row, what, name=name, seal=typed_part(row.seal), why="x")
        assert (status, words in text) == (400, True)
    assert phase(room, row) is Phase.AWAITING


def test_a_high_risk_needs_two_people(room: PlanRoom) -> None:
    row = awaiting(room, needed_approvals=2)
    end = typed_part(row.seal)
    assert sent(room, row, "approve", seal=end)[0] == 303
    assert (phase(room, row), sent(room, row, "approve", seal=end)[0]) == (Phase.AWAITING, 400)
    page = room.console.browser(PersonRole.APPROVER, name=BOB).get(f"/plans/{row.plan_id}").text
    assert f"1 of 2: {ALICE}" in page
    assert sent(room, row, "approve", name=BOB, seal=end)[0] == 303
    assert phase(room, row) is Phase.APPROVED


def test_rejecting_and_revoking_need_a_reason_and_lead_back_to_diagnosed(room: PlanRoom) -> None:
    first = awaiting(room)
    assert sent(room, first, "reject", why="  ")[0] == 400
    assert sent(room, first, "reject", why="the limit is wanted")[0] == 303
    assert (phase(room, first), room.workshop.status(first.incident_id)) == (Phase.REJECTED, Status.DIAGNOSED)
    second = awaiting(room)
    sent(room, second, "approve", seal=typed_part(second.seal))
    assert sent(room, second, "revoke", why="not today")[0] == 303
    assert phase(room, second) is Phase.REVOKED
    page = room.console.browser().get("/approvals").text
    assert "the limit is wanted" in page and "not today" in page
    whats = {action.what for action in room.console.desk.actions.latest(9)}
    assert {"approved", "rejected", "revoked"} <= whats


def test_while_repairs_are_off_nobody_approves_and_the_page_says_so(room: PlanRoom) -> None:
    row = awaiting(room)
    room.workshop.settings["REMEDIATION"] = "off"
    assert sent(room, row, "approve", seal=typed_part(row.seal))[0] == 409
    assert "repairs are switched off" in room.console.browser().get("/approvals").text
    assert phase(room, row) is Phase.AWAITING


def test_what_is_shown_is_what_was_sealed_or_nothing(room: PlanRoom) -> None:
    row = awaiting(room)
    stored = room.console.folder / "objects" / plan_key(row.plan_id, row.seal)
    stored.chmod(0o600)
    stored.write_bytes(stored.read_bytes().replace(b'"reserved":5', b'"reserved":6'))
    client = room.console.browser()
    page = client.get(f"/plans/{row.plan_id}")
    assert (page.status_code, "not the one that was sealed" in page.text) == (500, True)
    assert "not the one that was sealed" in client.get("/approvals").text
    assert client.get("/").status_code == 200


def test_a_record_that_was_changed_is_said_first_and_offers_no_approval(room: PlanRoom) -> None:
    row = awaiting(room)
    key = Key(pk=f"remediation#{row.plan_id}", sk="entry#000002")
    room.workshop.plans.table.write(Update(key=key, set={"sha256": "0" * 64}))
    page = room.console.browser(PersonRole.APPROVER, name=ALICE).get(f"/plans/{row.plan_id}").text
    assert "The record of this plan does not hold" in page and 'name="seal"' not in page


def test_a_link_of_the_laptop_proves_no_person(tmp_path: Path) -> None:
    from tests.support.pages.console import served

    workshop = a_workshop(tmp_path)
    row = workshop.awaiting(workshop.plan(an_action()))
    with served(tmp_path, clock=workshop.clock) as console:
        answer = console.post(console.browser(), f"/plans/{row.plan_id}/approve", seal=typed_part(row.seal))
        assert (answer.status_code, "proves no person" in answer.text) == (400, True)


def test_without_an_executor_nothing_is_run_or_undone_here(room: PlanRoom) -> None:
    row = awaiting(room)
    for what in ("run", "undo"):
        status, text = sent(room, row, what)
        assert (status, f"affidavit remedy {what}" in text) == (409, True)


def test_what_was_asked_for_looks_alive_and_is_streamed_until_it_is_over(room: PlanRoom) -> None:
    row = awaiting(room)
    client, here = room.console.browser(PersonRole.VIEWER), f"/plans/{row.plan_id}"
    asked = client.get(f"{here}?since={row.entries}").text
    assert "asked for: nothing has begun yet" in asked
    address = f"{here}/progress?after={row.entries}&since={row.entries}"
    assert f'data-events="{address.replace("&", "&amp;")}"' in asked
    assert "data-events" not in client.get(here).text
    with client.stream("GET", address, headers={"Accept": "text/event-stream"}) as answer:
        events = (json.loads(line[6:]) for line in answer.iter_lines() if line.startswith("data: "))
        assert (told := next(events))["phase"] == "awaiting" and not told["is_over"]
        sent(room, row, "reject", why="not today")
        assert (told := next(events))["phase"] == "rejected" and told["is_over"]
    assert client.get(address, headers={"HX-Request": "true"}).headers["hx-refresh"] == "true"


def test_an_approved_plan_is_watched_for_its_start_wherever_that_is(room: PlanRoom) -> None:
    row = awaiting(room)
    sent(room, row, "approve", seal=typed_part(row.seal))
    client = room.console.browser(PersonRole.VIEWER)
    page = client.get(f"/plans/{row.plan_id}").text
    assert "approved: waits for its start" in page
    address = page.partition('data-events="')[2].partition('"')[0].replace("&amp;", "&")
    asked = {"HX-Request": "true"}
    assert "hx-refresh" not in client.get(address, headers=asked).headers
    started = PhaseMove(to=Phase.REDEEMED, by="executor", details={})
    room.workshop.plans.advance(room.workshop.plans.get(row.plan_id), started)
    assert client.get(address, headers=asked).headers["hx-refresh"] == "true"
    running = client.get(f"/plans/{row.plan_id}?since={row.entries}").text
    assert "action 1 is worked on" in running and "since=" not in running.partition("data-events")[2][:80]
