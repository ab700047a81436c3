"""The demo's end: the diagnosis is repaired. Proposed, shown, approved by two people, proven, and undone on request."""

import subprocess
import time
from typing import TYPE_CHECKING

from affidavit.entrypoints.cli.demo.commands_run_as_typed import await_typed, run_typed, start_typed
from affidavit.entrypoints.cli.demo.step_printing import Story
from affidavit.entrypoints.cli.exit_codes import Exit
from affidavit.errors import UpstreamFailed

if TYPE_CHECKING:
    from affidavit.remediation.record.store import PlanStore
    from affidavit.sandbox.session_file import Session

FUNCTION = "data-processor"
LOOK_SECONDS = 0.2


def tell_known_good(story: Story) -> None:
    """Keep what works, before anything breaks: a repair takes its values from here."""
    story.step("How it is while it works is kept: the source of a later repair")
    run_typed(story, f"baseline capture {FUNCTION}")


def tell_repair(story: Story, incident: str) -> None:
    """Runs in the sandbox whose variables are in force, with a diagnosed incident."""
    session, plans = _session(), _plans()
    story.step("A repair is proposed: its values come from the known-good state, from nothing else")
    run_typed(story, f"remedy propose {incident}")
    row = plans.listed(plans.clock.now(), limit=1)[0]
    story.step("What people are shown: the exact calls, the difference, the undo, the seal over all of it")
    run_typed(story, f"remedy show {row.plan_id}")
    _approve(story, session, plans, row.plan_id, row.seal)
    story.step("The repair's record is proven again: sealed, approved, called once, read back")
    run_typed(story, f"verify {row.plan_id}")
    story.step("Undone on request, to the byte: bob wants the old state back")
    run_typed(story, f"remedy undo {row.plan_id}", environment=session.environment_of("bob"))
    run_typed(story, f"baseline diff {FUNCTION}", expected=Exit.FOUND)


def _approve(story: Story, session: "Session", plans: "PlanStore", plan_id: str, seal: str) -> None:
    """The second approval starts it. It waits for a good run, which somebody's traffic brings."""
    from affidavit.remediation.plan.seal import Seal, typed_part

    line = f"remedy approve {plan_id} --seal {typed_part(Seal(seal))}"
    story.step("Permissions are a high risk: two people approve, and the second approval starts it")
    story.say("alice, with her own keys:")
    run_typed(story, line, environment=session.environment_of("alice"))
    story.say("bob, with his:")
    repair = start_typed(story, line, environment=session.environment_of("bob"))
    try:
        _wait_for_change(plans, plan_id, repair)
        run_typed(story, "sandbox invoke")
        await_typed(repair, line)
    finally:
        repair.kill()
        repair.wait()


def _wait_for_change(plans: "PlanStore", plan_id: str, repair: "subprocess.Popen[bytes]") -> None:
    from affidavit.remediation.record.phases import Phase

    while repair.poll() is None:
        if plans.get(plan_id).phase is Phase.READ_BACK:
            return
        time.sleep(LOOK_SECONDS)
    raise UpstreamFailed(f"plan {plan_id} was not carried out", hint="what is printed above says why")


def _session() -> "Session":
    from affidavit.sandbox.session_file import needed_session
    from affidavit.settings import Settings

    return needed_session(Settings.from_environment().data_dir)


def _plans() -> "PlanStore":
    from affidavit.bootstrap import build_app
    from affidavit.remediation.record.store import PlanStore
    from affidavit.settings import Settings

    app = build_app(Settings.from_environment())
    return PlanStore(app.incident_state, app.objects, app.clock)
