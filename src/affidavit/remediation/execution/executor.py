"""Carries an approved plan out, once: intent, call, read-back, proof. The only writer of workloads besides chaos.

Read top down: `run` starts or settles, `carry_out` goes through the actions, `_do` makes one change.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from affidavit.errors import AffidavitError, Conflict, InvariantBroken, Throttled, UpstreamFailed
from affidavit.ports.aws_reads_and_changes import Changer
from affidavit.ports.json import Item, JsonValue
from affidavit.ports.table import ConditionFailed
from affidavit.remediation.always_refused import refused_calls
from affidavit.remediation.approvals.people import others_than
from affidavit.remediation.approvals.plan_decisions import Approvals
from affidavit.remediation.execution.other_writers import READ_AT, REQUEST_IDS, request_ids
from affidavit.remediation.execution.shared_executor_steps import (
    BY,
    LOOK_SECONDS,
    ExecutorTools,
    NotReadBack,
    aim_of,
    described,
    is_same,
    type_of,
)
from affidavit.remediation.execution.undoing import Undoing
from affidavit.remediation.execution.unseen_outcomes import Settling
from affidavit.remediation.kill_switch import RemediationStopped
from affidavit.remediation.plan.plan_record import Action, OnFailedProof, Plan
from affidavit.remediation.plan.rendering import unified
from affidavit.remediation.plan.seal import seal_of
from affidavit.remediation.record.check import broken_record
from affidavit.remediation.record.phases import Phase
from affidavit.remediation.record.store import PhaseMove, PlanRow

REDEEM_TRIES = 20


@dataclass(frozen=True, kw_only=True)
class Executor:
    tools: ExecutorTools
    approvals: Approvals

    @property
    def undoing(self) -> Undoing:
        return Undoing(tools=self.tools)

    def run(self, plan_id: str) -> PlanRow:
        """Start an approved plan, or settle one whose executor died. Raises Conflict for every other."""
        self.tools.switch.check()
        row = self.tools.plans.get(plan_id)
        plan = self._sealed(row)
        if row.phase.is_running:
            return self._settled(row, plan)
        return self.carry_out(self.redeem(row, plan))

    def redeem(self, row: PlanRow, plan: Plan) -> PlanRow:
        """One approval, one execution: of all who try, one gets the row back. The others get Conflict."""
        for _ in range(REDEEM_TRIES):
            self.approvals.check_open(row, plan, Phase.APPROVED)
            self._check_approvals(row, plan)
            claim = self.tools.starts.claim(plan, row)
            move = PhaseMove(to=Phase.REDEEMED, by=BY, details={"seal": row.seal})
            try:
                return self.tools.plans.advance(row, move, also=claim.writes, changes=claim.changes)
            except ConditionFailed:
                # Somebody else's start may have moved the hour's count; whether it was this plan's, the row tells.
                row = self.tools.plans.get(row.plan_id)
        raise Conflict(f"plan {row.plan_id} could not be started: too many start at once", hint="try again")

    def carry_out(self, row: PlanRow) -> PlanRow:
        """Go through a plan that was redeemed just now, by this executor."""
        plan = self._sealed(row)
        try:
            self._check_approvals(row, plan)
            if stale := self._stale(plan):
                return self.tools.end(row, plan, Phase.STALE, "; ".join(stale), {"problems": list(stale)})
            calls = tuple(call for one in plan.actions for call in type_of(one).calls(aim_of(one), None))
            changer = self.tools.door.open(self.tools.grant(row, calls))
        except RemediationStopped as stopped:
            return self.tools.end(row, plan, Phase.HANDED_OVER, str(stopped))
        except (AffidavitError, InvariantBroken) as error:
            return self.tools.end(row, plan, Phase.STALE, f"it could not be checked: {error}")
        return self._through(row, plan, changer)

    def undo(self, plan_id: str, by: str) -> PlanRow:
        """Take a plan back on a person's word. Raises Conflict when there is nothing to take back."""
        self.tools.switch.check()
        row = self.tools.plans.get(plan_id)
        plan = self._sealed(row)
        if row.phase not in (Phase.PROVEN, Phase.HANDED_OVER, Phase.UNDO_FAILED):
            raise Conflict(f"plan {plan_id} is {row.phase}", hint="only what was carried out can be undone")
        return Undoing(tools=self.tools, asked_by=by).undo(row, plan, f"{by} asked for it")

    # --- the actions, one after the other ----------------------------------------------------------------------------

    def _through(self, row: PlanRow, plan: Plan, changer: Changer) -> PlanRow:
        for step, action in enumerate(plan.actions):
            try:
                row = self._do(row, plan, action, step, changer)
            except RemediationStopped as stopped:
                return self._stopped(self.tools.plans.get(row.plan_id), plan, stopped)
            if row.phase is not Phase.READ_BACK:
                return row
        try:
            return self._proved(row, plan)
        except RemediationStopped as stopped:
            return self._stopped(row, plan, stopped)

    def _do(self, row: PlanRow, plan: Plan, action: Action, step: int, changer: Changer) -> PlanRow:
        self.tools.switch.check()
        read_at = self.tools.clock.now().isoformat()
        try:
            live = type_of(action).read(aim_of(action), self.tools.reader)
        except AffidavitError as error:
            return self._given_up(row, plan, step, f"{action.target} could not be read: {error}")
        if not is_same(live.state, action.precondition.state):
            differs = unified(action.precondition.state, live.state)
            return self._given_up(row, plan, step, f"{action.target} is no longer as the plan says:\n{differs}")
        calls = type_of(action).calls(aim_of(action), live.token)
        self._check_seal(row, plan)
        if refused := list(refused_calls(calls)):
            return self._given_up(row, plan, step, refused[0])
        intent: Item = {"step": step, "calls": described(calls), "undo": action.undo, "expected": action.expected}
        row = self.tools.move(row, Phase.INTENT_WRITTEN, {**intent, READ_AT: read_at}, step=step)
        ids = list[JsonValue]()
        try:
            for call in calls:
                self.tools.tell(f"calls {call.action} on {call.resource}")
                self.tools.switch.check()
                ids += request_ids(changer.call(call))
        except RemediationStopped:
            raise
        except AffidavitError as error:
            row = self.tools.move(row, Phase.OUTCOME_UNKNOWN, {"step": step, "why": str(error)})
            # Refused is refused; after any other failure the call may still be on its way.
            may_come = isinstance(error, UpstreamFailed) and not isinstance(error, Throttled)
            return Settling(tools=self.tools, may_come=may_come).settle(row, plan)
        return self._read_back(self.tools.move(row, Phase.CALLED, {"step": step, REQUEST_IDS: ids}), plan, action, step)

    def _read_back(self, row: PlanRow, plan: Plan, action: Action, step: int) -> PlanRow:
        try:
            self.tools.wait_for_state(action, aim_of(action), action.expected)
        except NotReadBack as error:
            if not error.was_read:
                row = self.tools.move(row, Phase.OUTCOME_UNKNOWN, {"step": step, "why": str(error)})
            return self.tools.end(row, plan, Phase.HANDED_OVER, str(error), {"step": step, "differs": True})
        self.tools.tell(f"{action.target} reads back as expected")
        return self.tools.move(row, Phase.READ_BACK, {"step": step})

    def _given_up(self, row: PlanRow, plan: Plan, step: int, why: str) -> PlanRow:
        if step == 0:
            return self.tools.end(row, plan, Phase.STALE, why)
        return self.undoing.undo(row, plan, why)

    def _stopped(self, row: PlanRow, plan: Plan, stopped: RemediationStopped) -> PlanRow:
        """Switched off in between: nothing more is called, also no undo. A person decides."""
        if row.phase is Phase.INTENT_WRITTEN:
            row = self.tools.move(row, Phase.OUTCOME_UNKNOWN, {"step": row.step, "why": str(stopped)})
        return self.tools.end(row, plan, Phase.HANDED_OVER, str(stopped), {"step": row.step})

    # --- the proof ---------------------------------------------------------------------------------------------------

    def _proved(self, row: PlanRow, plan: Plan) -> PlanRow:
        trouble = self._symptom_trouble(row, plan) or self._changed_again(plan)
        if not trouble:
            return self.tools.end_seen(row, plan, Phase.PROVEN, "the state re-reads and the symptom is gone")
        if plan.on_failed_proof is OnFailedProof.HAND_OVER:
            return self.tools.end(row, plan, Phase.HANDED_OVER, trouble)
        return self.undoing.undo(row, plan, trouble)

    def _symptom_trouble(self, row: PlanRow, plan: Plan) -> str:
        """Empty once enough runs that began after the change went well, and none failed."""
        symptom, since = plan.symptom, self._changed_at(row)
        self.tools.tell(f"waits up to {symptom.window_seconds} s for a good run of {symptom.subject}: the proof")
        deadline, trouble = self.tools.clock.now() + timedelta(seconds=symptom.window_seconds), ""
        while True:
            self.tools.switch.check()
            try:
                seen = self.tools.symptoms.look(symptom, since=since)
            except AffidavitError as error:
                trouble = f"nobody could see whether the symptom is gone: {error}"
            else:
                if seen.bad:
                    return f"{seen.bad} run(s) failed after the change: the symptom persists"
                if seen.good >= symptom.good_runs and seen.is_complete:
                    return ""
                trouble = f"only {seen.good} good run(s) within {symptom.window_seconds} s: nothing shows a repair"
            if self.tools.clock.now() >= deadline:
                return trouble
            self.tools.sleep(LOOK_SECONDS)

    def _changed_again(self, plan: Plan) -> str:
        try:
            drifted = [one.target for one in plan.actions if not is_same(self.tools.live_state(one), one.expected)]
        except AffidavitError as error:
            return f"the state could not be read at the end: {error}"
        return f"{', '.join(drifted)} changed while the proof was awaited" if drifted else ""

    def _changed_at(self, row: PlanRow) -> datetime:
        """When the last change was read back: a run that began after it ran on the new state."""
        record = self.tools.plans.record(row.plan_id)
        return max(entry.at for entry in record if entry.phase is Phase.READ_BACK)

    # --- what must hold before ---------------------------------------------------------------------------------------

    def _sealed(self, row: PlanRow) -> Plan:
        """Raises InvariantBroken when plan, row and record do not say the same."""
        plan = self.tools.plans.plan(row)
        if broken := list(broken_record(self.tools.plans, row.plan_id)):
            raise InvariantBroken(f"the record of {row.plan_id} does not hold: {broken[0]}", hint="affidavit verify")
        return plan

    def _check_seal(self, row: PlanRow, plan: Plan) -> None:
        if seal_of(plan) != row.seal:
            raise InvariantBroken(f"what would be sent is not what was sealed in {row.plan_id}")

    def _check_approvals(self, row: PlanRow, plan: Plan) -> None:
        """Every approval in the record is of this seal, by enough different people, none of whom proposed it."""
        self._check_seal(row, plan)
        given = [one for one in self.tools.plans.record(row.plan_id) if "proof" in one.details]
        people = others_than(plan.created_by, (one.by for one in given if one.details.get("seal") == row.seal))
        if len(people) < max(plan.needed_approvals, self.approvals.least) or len(people) != len(given):
            raise InvariantBroken(f"{row.plan_id} is not approved by enough people", hint="affidavit remedy show")

    def _stale(self, plan: Plan) -> Sequence[str]:
        """What no longer holds: citations, prechecks, live states. Nothing is called then."""
        self.tools.switch.check()
        problems = list(self.tools.citations.problems(plan))
        for action in plan.actions:
            kind, aim = type_of(action), aim_of(action)
            live = kind.read(aim, self.tools.reader)
            if not is_same(live.state, action.precondition.state):
                problems.append(f"{action.target} is no longer as the plan says")
            problems += kind.problems(aim, live, self.tools.reader)
        return problems

    def _settled(self, row: PlanRow, plan: Plan) -> PlanRow:
        if row.until > self.tools.clock.now().timestamp():
            raise Conflict(f"plan {row.plan_id} is being carried out", hint="`affidavit remedy show` follows it")
        row = Settling(tools=self.tools).settle(row, plan)
        is_whole = row.phase is Phase.READ_BACK and row.step == len(plan.actions) - 1
        if row.phase is not Phase.READ_BACK:
            return row
        # Nothing goes on by itself after a crash: what is whole is proven, what is not is taken back.
        return self._proved(row, plan) if is_whole else self.undoing.undo(row, plan, "its executor died half-way")
