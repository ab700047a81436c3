"""What the commands of `affidavit remedy` do."""

from collections.abc import Iterable, Sequence
from datetime import timedelta

import typer

from affidavit.entrypoints.cli.exit_codes import Exit
from affidavit.entrypoints.cli.remedy.record_text import noted, others_told
from affidavit.entrypoints.cli.remedy.wiring import build_remedy_desk
from affidavit.entrypoints.report.terminal_escapes_and_colours import harmless
from affidavit.remediation.plan.narrowing import narrowed
from affidavit.remediation.plan.plan_record import Plan
from affidavit.remediation.plan.rendering import rendered, summary, undo_lines
from affidavit.remediation.plan.seal import plan_bytes, seal_of
from affidavit.remediation.proposing import Proposed
from affidavit.remediation.record.phases import Phase
from affidavit.remediation.record.store import PlanRow

DAYS = 7
MOST_LISTED = 50


def run_propose(incident: str, *, is_dry: bool) -> Exit:
    desk = build_remedy_desk(tell=_say)
    done = desk.proposing.propose(incident, created_by=desk.person().identity, is_dry=is_dry)
    if not done.plan.actions:
        _say("There is nothing that can be repaired from a source. What stays is advice:")
        _say_all(f"  {one.step}: {one.why}" for one in done.plan.advice)
        return Exit.FOUND
    return _told_proposed(done, is_dry=is_dry)


def _told_proposed(done: Proposed, *, is_dry: bool) -> Exit:
    _say(_shown(done.plan) if is_dry else "\n".join(summary(done.plan)))
    if done.refusals:
        _say("The Critic refuses this plan:")
        _say_all(f"  {why}" for why in done.refusals)
        return Exit.FOUND
    _say("Nothing was stored." if is_dry else f"Read it, then approve it: affidavit remedy show {done.plan.plan_id}")
    return Exit.DONE


def run_show(plan_id: str) -> Exit:
    desk = build_remedy_desk()
    row = desk.plans.get(plan_id)
    _say(_shown(desk.plans.plan(row)))
    _say(f"\nIt is {row.phase}{f': {row.reason}' if row.reason else ''}. Its record:")
    record = desk.plans.record(plan_id)
    for entry in record:
        _say(f"  {entry.number:>3} {entry.at:%Y-%m-%d %H:%M:%S} {entry.phase:<16} {entry.sha256[:12]} {noted(entry)}")
    if (bystanders := desk.executor.tools.bystanders) is not None:
        _say_all(others_told(bystanders, desk.plans.plan(row), record))
    return Exit.DONE


def run_approve(plan_id: str, *, typed: str | None, is_starting: bool, is_dry: bool) -> Exit:
    """Who may not approve learns so before they read and type."""
    desk = build_remedy_desk(tell=_say)
    person = desk.person()
    row, plan = desk.approvals.check_approvable(plan_id, person)
    if is_dry:
        _say(_shown(plan))
        _say(f"You are {person.identity}, and may approve it. Nothing was approved.")
        return Exit.DONE
    if typed is None:
        _say(_shown(plan))
        typed = str(typer.prompt(f"You are {person.identity}. Type the last characters of the seal to approve"))
    starting = desk.executor.tools.starts.claim if is_starting else None
    row = desk.approvals.approve(plan_id, person, typed=typed, starting=starting)
    if row.phase is Phase.REDEEMED:
        return _told(desk.executor.carry_out(row))
    more = "another person has to approve it, too" if row.phase is Phase.AWAITING else f"affidavit remedy run {plan_id}"
    _say(f"Approved by {person.identity}. Next: {more}.")
    return Exit.DONE


def run_narrow(plan_id: str, drop: Sequence[int], *, is_dry: bool) -> Exit:
    desk = build_remedy_desk(tell=_say)
    person = desk.person()
    desk.approvals.check_person(person)
    if is_dry:
        now, reader = desk.app.clock.now(), desk.executor.tools.reader
        plan = desk.plans.plan(desk.plans.get(plan_id))
        _say(_shown(narrowed(plan, drop, created_by=person.identity, now=now, reader=reader)))
        _say("Nothing was stored.")
        return Exit.DONE
    done = desk.proposing.narrow(plan_id, drop, approvals=desk.approvals, person=person)
    return _told_proposed(done, is_dry=False)


def run_end(plan_id: str, *, why: str, is_revoking: bool, is_dry: bool) -> Exit:
    desk = build_remedy_desk()
    person, row = desk.person(), desk.plans.get(plan_id)
    desk.approvals.check_person(person)
    if not is_dry:
        row = (desk.approvals.revoke if is_revoking else desk.approvals.reject)(plan_id, person, why)
    _say(f"Plan {plan_id} is {row.phase}{'; nothing was changed' if is_dry else ''}.")
    return Exit.DONE


def run_run(plan_id: str, *, is_dry: bool) -> Exit:
    desk = build_remedy_desk(tell=_say)
    if not is_dry:
        return _told(desk.executor.run(plan_id))
    row = desk.plans.get(plan_id)
    _say(_shown(desk.plans.plan(row)))
    _say(f"It is {row.phase}. Nothing was called.")
    return Exit.DONE


def run_undo(plan_id: str, *, is_dry: bool) -> Exit:
    desk = build_remedy_desk(tell=_say)
    person = desk.person()
    desk.approvals.check_person(person)
    if not is_dry:
        return _told(desk.executor.undo(plan_id, person.identity))
    row = desk.plans.get(plan_id)
    _say_all(undo_lines(desk.plans.plan(row)))
    _say(f"It is {row.phase}. Nothing was called.")
    return Exit.DONE


def run_list() -> Exit:
    desk = build_remedy_desk()
    today = desk.app.clock.now()
    rows = [row for back in range(DAYS) for row in desk.plans.listed(today - timedelta(days=back), limit=MOST_LISTED)]
    for row in rows[:MOST_LISTED]:
        _say(f"{row.plan_id}  {row.phase:<16} {row.at:%Y-%m-%d %H:%M}  {row.incident_id}  {row.reason[:80]}")
    if not rows:
        _say(f"no plan in the last {DAYS} days")
    return Exit.DONE


def run_freeze(*, is_thawing: bool, is_dry: bool) -> Exit:
    desk = build_remedy_desk()
    switch, person = desk.executor.tools.switch, desk.person()
    if is_thawing:
        # Anybody may stop repairs; going on is decided by who may approve them.
        desk.approvals.check_person(person)
    if is_dry:
        _say(f"You are {person.identity}. Nothing was changed.")
        return Exit.DONE
    if is_thawing:
        switch.thaw()
    else:
        switch.freeze(person.identity)
    _say("Repairs may go on." if is_thawing else "Repairs are frozen; what runs stops at its next step.")
    return Exit.DONE


def _told(row: PlanRow) -> Exit:
    _say(f"Plan {row.plan_id} is {row.phase}{f': {row.reason}' if row.reason else ''}.")
    return Exit.DONE if row.phase in (Phase.PROVEN, Phase.UNDONE) else Exit.FOUND


def _shown(plan: Plan) -> str:
    return rendered(plan_bytes(plan), seal_of(plan))


def _say(text: str) -> None:
    typer.echo("\n".join(harmless(line) for line in text.splitlines()))


def _say_all(lines: Iterable[str]) -> None:
    for line in lines:
        _say(line)
