"""Reviews a plan independently: deterministic checks, whose refusal is final. It shares no code with the Resolver."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from pydantic import ValidationError

from affidavit.errors import AffidavitError
from affidavit.evidence.diagnosis import Diagnosis, RiskLevel
from affidavit.incidents.incident import Incident
from affidavit.ports.argument_sources import ArgumentSources
from affidavit.ports.aws_reads_and_changes import StateReader
from affidavit.ports.clock import Clock
from affidavit.ports.json import Item
from affidavit.remediation.actions.action_type import ActionType, Aim, Reading
from affidavit.remediation.actions.arns import parse_arn
from affidavit.remediation.actions.catalog import catalog
from affidavit.remediation.adviser import RepairAdviser
from affidavit.remediation.always_refused import refused_calls
from affidavit.remediation.citation_rereading import Citations
from affidavit.remediation.plan.plan_record import POLICY_VERSION, Action, Plan, UndoClass
from affidavit.remediation.plan.rendering import rendered
from affidavit.remediation.plan.seal import plan_bytes, seal_of, sha256_of
from affidavit.remediation.review.action_matches_source import beyond_source
from affidavit.remediation.review.belonging import foreign_target
from affidavit.remediation.review.iam_policy_checks import widened_policy
from affidavit.remediation.review.node_checks import restarts_another
from affidavit.remediation.review.stopped_traffic import stops_traffic

LONGEST = timedelta(hours=4)
MOST_ACTIONS = 8
_RISKS = list(RiskLevel)


@dataclass(frozen=True, kw_only=True)
class Critic:
    reader: StateReader
    sources: ArgumentSources
    citations: Citations
    clock: Clock
    adviser: RepairAdviser | None = None
    """May add refusals to a plan that passed, and lift none."""

    def refusals(self, plan: Plan, incident: Incident, diagnosis: Diagnosis) -> list[str]:
        """Every reason against the plan. Empty: it may be shown to people."""
        found = [*self._of_plan(plan, incident), *self.citations.problems(plan)]
        for number, action in enumerate(plan.actions, start=1):
            found += [f"action {number}: {why}" for why in self._of_action(plan, action, incident, diagnosis)]
        return found or self._objections(plan)

    def _objections(self, plan: Plan) -> list[str]:
        """Asked only of a plan that nothing else speaks against: no word of it could save another one."""
        if self.adviser is None:
            return []
        shown = rendered(plan_bytes(plan), seal_of(plan))
        return [f"a chat model objects: {why}" for why in self.adviser.objections(shown)]

    def _of_plan(self, plan: Plan, incident: Incident) -> Iterator[str]:
        if not plan.actions or len(plan.actions) > MOST_ACTIONS:
            yield f"a plan has 1 to {MOST_ACTIONS} actions, this one {len(plan.actions)}"
        if plan.policy_version != POLICY_VERSION:
            yield f"it was made by policy {plan.policy_version}, in force is {POLICY_VERSION}"
        if not plan.created_at <= self.clock.now() < plan.expires_at <= plan.created_at + LONGEST:
            yield "it must expire later than now and at most 4 hours after it was made"
        if (plan.account, plan.region) != (incident.account, incident.region):
            yield "it is about another account or region than its incident"
        if plan.symptom.subject != incident.subject or plan.symptom.good_runs < 1 or plan.symptom.window_seconds < 1:
            yield "its proof is not about the subject of the incident"
        if plan.needed_approvals < (2 if plan.risk is RiskLevel.HIGH else 1):
            yield "too few people would have to approve it"
        touched = {action.target for action in plan.actions}
        if not touched <= set(plan.blast_radius):
            yield "its blast radius does not list what it changes"

    def _of_action(self, plan: Plan, action: Action, incident: Incident, diagnosis: Diagnosis) -> Iterator[str]:
        kind = catalog().get(action.type)
        if kind is None:
            yield f"{action.type!r} is not in the catalog"
            return
        shapes = [*_misshapen(kind, action.arguments), *_misshapen(kind, action.undo or action.arguments)]
        yield from shapes
        if shapes:
            return
        yield from _foreign(plan, action)
        if not action.evidence_basis or not all(0 <= one < len(diagnosis.evidence) for one in action.evidence_basis):
            yield "it rests on no evidence of the diagnosis"
        if not kind.repairs & set(diagnosis.fault_types):
            yield f"{action.type} repairs none of the faults of the diagnosis"
        if _RISKS.index(action.risk) < _RISKS.index(kind.risk) or action.undo_class is not kind.undo_class:
            yield "its risk or its undo is called better than the catalog calls it"
        if restarts_another(action, diagnosis):
            yield "it restarts a service that the diagnosis is not about"
        yield from self._against_source(action, incident)
        yield from self._against_live(kind, action)

    def _against_source(self, action: Action, incident: Incident) -> Iterator[str]:
        try:
            said = self.sources.reread(action.source)
            yield from beyond_source(action, said)
            yield from widened_policy(action, said, self.reader)
            yield from foreign_target(action, incident.subject, said, self.reader)
        except AffidavitError as error:
            yield f"its source or what it is about cannot be read: {error}"

    def _against_live(self, kind: ActionType, action: Action) -> Iterator[str]:
        aim = Aim(target=action.target, arguments=action.arguments)
        try:
            live = kind.read(aim, self.reader)
            problems = kind.problems(aim, live, self.reader)
        except AffidavitError as error:
            yield f"its live state cannot be read: {error}"
            return
        yield from problems
        yield from _mismatches(kind, action, aim, live)
        calls = (*kind.calls(aim, None), *(kind.calls(_undo_aim(action), None) if action.undo is not None else ()))
        yield from refused_calls(calls)
        if stops_traffic(action):
            yield "it would only stop the traffic: no error is no proof of a repair"


def _mismatches(kind: ActionType, action: Action, aim: Aim, live: Reading) -> Iterator[str]:
    state = action.precondition.state
    if sha256_of(state) != action.precondition.sha256 or sha256_of(live.state) != action.precondition.sha256:
        yield "the live state is not its precondition"
    if sha256_of(kind.expected(aim, state)) != sha256_of(action.expected):
        yield "it would not lead to what it says it expects"
    if sha256_of(action.expected) == sha256_of(state):
        yield "it changes nothing"
    if (action.undo is None) != (kind.undo_class is UndoClass.NONE):
        yield "its undo is missing, or there can be none"
    elif action.undo is not None and not _leads_back(kind, action):
        yield "its undo does not lead back to what was there"


def _leads_back(kind: ActionType, action: Action) -> bool:
    back = kind.expected(_undo_aim(action), action.expected)
    return kind.undo_class is not UndoClass.EXACT or sha256_of(back) == sha256_of(action.precondition.state)


def _undo_aim(action: Action) -> Aim:
    return Aim(target=action.target, arguments=action.undo or {})


def _misshapen(kind: ActionType, arguments: Item) -> Iterator[str]:
    try:
        kind.arguments.model_validate(arguments)
    except ValidationError as error:
        yield f"its arguments are not those of {kind.name}: {error.errors()[0]['msg']}"


def _foreign(plan: Plan, action: Action) -> Iterator[str]:
    try:
        arn = parse_arn(action.target)
    except AffidavitError as error:
        yield str(error)
        return
    if arn.account not in ("", plan.account) or arn.region not in ("", plan.region):
        yield f"{action.target} is in another account or region than the plan"
