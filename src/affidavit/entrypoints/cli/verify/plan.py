"""`affidavit verify PLAN`: proves the record of a repair again, from what is stored alone."""

from affidavit.bootstrap import build_app
from affidavit.entrypoints.cli.exit_codes import Exit
from affidavit.entrypoints.report.terminal_escapes_and_colours import make_console, text
from affidavit.errors import InvariantBroken
from affidavit.remediation.record.check import broken_record
from affidavit.remediation.record.store import PlanStore
from affidavit.settings import Settings


def run_verify_plan(plan_id: str, *, no_color: bool) -> Exit:
    app, console = build_app(Settings.from_environment()), make_console(no_color=no_color)
    plans = PlanStore(app.incident_state, app.objects, app.clock)
    for problem in (broken := _broken(plans, plan_id)):
        console.print(text(f"BROKEN {problem}", "bold red"))
    if broken:
        return Exit.FOUND
    entries = plans.record(plan_id)
    console.print(
        f"All {len(entries)} entries of {plan_id} follow each other, and the plan is the one that was sealed."
    )
    return Exit.DONE


def _broken(plans: PlanStore, plan_id: str) -> list[str]:
    try:
        return list(broken_record(plans, plan_id))
    except InvariantBroken as error:
        return [str(error)]
