"""Makes a plan from a stored diagnosis. It chooses among the catalog; every value comes from a source."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid4

from affidavit.errors import NotFound
from affidavit.evidence.diagnosis import Diagnosis, RiskLevel
from affidavit.incidents.incident import Incident
from affidavit.ports.argument_sources import ArgumentSources, SourceDocument, SourceKind
from affidavit.ports.aws_reads_and_changes import StateReader
from affidavit.ports.clock import Clock
from affidavit.remediation.actions.action_type import ActionType, Aim
from affidavit.remediation.actions.catalog import catalog
from affidavit.remediation.actions.nodes.service_restart import SERVICES
from affidavit.remediation.adviser import RepairAdviser
from affidavit.remediation.citation_rereading import diagnosis_digest
from affidavit.remediation.plan.plan_record import Action, Advice, OnFailedProof, Plan, PlanId, Symptom
from affidavit.remediation.plan.seal import precondition_of

# Arguments that say which part of the target is changed; the others say to what.
_PARTS = ("path", "sid", "policy", "policy_arn", "rule", "number", "egress", "destination", "operation")
_TAKES_AWAY = ("Revoke", "Detach", "Disable")
# A change breaks something within this time, or not at all: as far as "what changed?" looks back.
BREAKS_WITHIN = timedelta(hours=24)
# Deals with what a fault left behind: only when nothing else is left to repair, else the same would happen again.
_AFTERWARDS = frozenset({"sqs.redrive"})
NO_SOURCE = (
    "no known-good state, change event or former version says what was there; of environment variables only published "
    "versions do, one with the good ones and one with those of now"
)


@dataclass(frozen=True, kw_only=True)
class Resolver:
    reader: StateReader
    sources: ArgumentSources
    clock: Clock
    expiry: timedelta = timedelta(hours=1)
    proof_window: timedelta = timedelta(minutes=10)
    least_approvals: int = 1
    adviser: RepairAdviser | None = None
    """May leave actions out and order them. Arguments and types are not its to say."""

    def resolve(self, incident: Incident, diagnosis: Diagnosis, *, created_by: str) -> Plan:
        """A plan, perhaps of advice alone. The same diagnosis, sources and live state give the same actions."""
        said = self.sources.about(incident.subject, before=incident.occurred_at)
        found = tuple(self._actions(incident, diagnosis, said))
        repairs = tuple(one for one in found if one.type not in _AFTERWARDS) or found
        actions = self._advised(diagnosis, repairs)
        now = self.clock.now()
        high = any(action.risk is RiskLevel.HIGH for action in actions)
        return Plan(
            plan_id=PlanId(f"plan-{uuid4().hex[:12]}"),
            incident_id=incident.incident_id,
            diagnosis_sha256=diagnosis_digest(diagnosis),
            account=incident.account,
            region=incident.region,
            actions=actions,
            advice=(*_advice(diagnosis, has_actions=bool(actions)), *_later(found, repairs), *_left(repairs, actions)),
            symptom=Symptom(subject=incident.subject, window_seconds=int(self.proof_window.total_seconds())),
            on_failed_proof=OnFailedProof.UNDO if all(map(_can_be_sent_back, actions)) else OnFailedProof.HAND_OVER,
            needed_approvals=max(2 if high else 1, self.least_approvals),
            blast_radius=tuple(self._touched(actions)),
            created_by=created_by,
            created_at=now,
            expires_at=now + self.expiry,
        )

    def _advised(self, diagnosis: Diagnosis, repairs: tuple[Action, ...]) -> tuple[Action, ...]:
        """In the adviser's order, without what it leaves out; all of them where its answer is of no use."""
        if self.adviser is None or len(repairs) < 2:
            return repairs
        said = self.adviser.chosen(diagnosis.root_cause, [_described(one) for one in repairs])
        return tuple(repairs[one] for one in dict.fromkeys(said) if 0 <= one < len(repairs)) or repairs

    def _actions(self, incident: Incident, diagnosis: Diagnosis, said: Sequence[SourceDocument]) -> Iterator[Action]:
        """Of each thing that an action would change, what the most trusted source says."""
        basis = _basis(diagnosis)
        for kind in catalog().values():
            if kind.subject_kind is not incident.subject.kind or not kind.repairs & set(diagnosis.fault_types):
                continue
            settled: set[tuple[str, str]] = set()
            for document in said:
                for aim in self._aims(kind, incident, document):
                    if not _is_suited(aim, diagnosis):
                        continue
                    if (thing := _thing(kind, aim)) in settled:
                        continue
                    settled.add(thing)
                    if not _was_given_up(document, incident):
                        yield self._action(kind, aim, document, basis)

    def _aims(self, kind: ActionType, incident: Incident, said: SourceDocument) -> Sequence[Aim]:
        try:
            return kind.aims(incident.subject, said, self.reader)
        except NotFound:
            return []

    def _action(self, kind: ActionType, aim: Aim, said: SourceDocument, basis: tuple[int, ...]) -> Action:
        state = kind.read(aim, self.reader).state
        return Action(
            type=kind.name,
            target=aim.target,
            arguments=aim.arguments,
            source=said.source,
            evidence_basis=basis,
            precondition=precondition_of(state),
            expected=kind.expected(aim, state),
            undo=kind.undo(aim, state),
            risk=kind.risk,
            undo_class=kind.undo_class,
        )

    def _touched(self, actions: Sequence[Action]) -> Iterator[str]:
        seen: dict[str, None] = {}
        for action in actions:
            aim = Aim(target=action.target, arguments=action.arguments)
            seen |= dict.fromkeys(catalog()[action.type].touches(aim, self.reader))
        yield from seen


def _thing(kind: ActionType, aim: Aim) -> tuple[str, str]:
    """What is changed: the target, and within it the part that the arguments name."""
    parts = [str(aim.arguments[name]) for name in _PARTS if name in aim.arguments]
    return aim.target, ":".join(parts)


def _is_suited(aim: Aim, diagnosis: Diagnosis) -> bool:
    """Of a node's services only the one that the diagnosis is about."""
    restarts = set(SERVICES.values())
    wanted = {SERVICES[one] for one in diagnosis.fault_types if one in SERVICES}
    return aim.arguments.get("operation") not in restarts - wanted


def _can_be_sent_back(action: Action) -> bool:
    """A restart has an undo that sends nothing: then a person goes on."""
    if action.undo is None:
        return False
    return bool(catalog()[action.type].calls(Aim(target=action.target, arguments=action.undo), None))


def _was_given_up(said: SourceDocument, incident: Incident) -> bool:
    """Whether the last word about a thing is that somebody took it away, so long ago that it broke nothing now."""
    is_removal = str(said.document.get("eventName", "")).startswith(_TAKES_AWAY)
    is_event = said.source.kind is SourceKind.TRAIL_EVENT
    return is_event and is_removal and said.at < incident.occurred_at - BREAKS_WITHIN


def _basis(diagnosis: Diagnosis) -> tuple[int, ...]:
    cited = sorted({index for step in diagnosis.remediation_plan for index in step.evidence_basis})
    return tuple(cited) or tuple(range(len(diagnosis.evidence)))


def _described(action: Action) -> str:
    return f"{action.type} on {action.target}: {action.precondition.state} becomes {action.expected}"


def _left(repairs: Sequence[Action], planned: Sequence[Action]) -> Iterator[Advice]:
    for action in repairs:
        if action not in planned:
            yield Advice(step=f"{action.type} on {action.target}", why="the chat model left it out of the plan")


def _later(found: Sequence[Action], planned: Sequence[Action]) -> Iterator[Advice]:
    for action in found:
        if action not in planned:
            yield Advice(step=f"{action.type} on {action.target}", why="only once its cause is repaired: propose again")


def _advice(diagnosis: Diagnosis, *, has_actions: bool) -> Iterator[Advice]:
    for step in diagnosis.remediation_plan:
        if step.is_advice:
            yield Advice(step=step.action, why="it fits no kind of change that we know")
        elif not has_actions:
            yield Advice(step=step.action, why=NO_SOURCE)
