"""Tells people that a plan waits for them. The notice carries the link to it, never the power: no seal, no button.

It follows the incident's own message where the channel has one: there is one thread, issue or note per incident.
"""

from collections.abc import Callable
from dataclasses import dataclass

from affidavit.incidents.incident import Incident, IncidentId
from affidavit.incidents.notices.channel import Channel
from affidavit.incidents.notices.incident_notice import PLAIN, NoticeStyle
from affidavit.incidents.notices.sent_notices import ToldStates
from affidavit.incidents.store.state import Status
from affidavit.ports.notice_record import Notice, NoticeStep
from affidavit.remediation.plan.plan_record import Action, Plan


@dataclass(frozen=True, kw_only=True)
class PlanNotices:
    """`failed` hears of channels that took nothing: a notice that fails harms no plan."""

    channels: tuple[Channel, ...]
    told: ToldStates
    style: NoticeStyle = PLAIN
    failed: Callable[[str], None] = lambda _: None

    def __call__(self, plan: Plan, incident: Incident) -> None:
        if not self.channels:
            return
        notice = plan_notice(plan, incident, self.style)
        for channel in self.channels:
            try:
                if channel.takes(notice):
                    self._through(channel, notice, plan.incident_id)
            except Exception as error:  # noqa: BLE001 - one channel must not keep the others from their notice
                self.failed(f"{channel.name} could not be told: {type(error).__name__}: {error}")

    def _through(self, channel: Channel, notice: Notice, incident_id: IncidentId) -> None:
        earlier = self.told.message(incident_id, channel)
        name = channel.notifier.notify(notice, earlier=earlier)
        if name and name != earlier:
            self.told.keep_message(incident_id, channel, name)


def plan_notice(plan: Plan, incident: Incident, style: NoticeStyle = PLAIN) -> Notice:
    from affidavit.redaction.redact import Redactor

    redactor = Redactor(hides_personal=style.hides_personal)

    def line(text: str) -> str:
        return " ".join(redactor.redact(text).text.split())

    status = Status.AWAITING_APPROVAL.value
    return Notice(
        key=f"{plan.plan_id}#{status}",
        incident_id=plan.incident_id,
        about=line(str(incident.subject)),
        state=status,
        severity=None,
        title=line(f"[{status}] {incident.subject}: a repair waits for {plan.needed_approvals} approval(s)"),
        cause=f"A repair waits for {plan.needed_approvals} approval(s) until {plan.expires_at:%Y-%m-%d %H:%M} UTC",
        is_diagnosed=True,
        attempts=1,
        resources=tuple(line(one) for one in plan.blast_radius),
        since=incident.occurred_at,
        account=plan.account,
        region=plan.region,
        summary=f"risk {plan.risk}, proposed by {line(plan.created_by)}",
        plan=tuple(_step(action, line) for action in plan.actions),
        link=f"{style.console_url.rstrip('/')}/plans/{plan.plan_id}" if style.console_url else "",
        origin=incident.origin,
        plan_id=plan.plan_id,
    )


def _step(action: Action, line: Callable[[str], str]) -> NoticeStep:
    details = (
        f"values from {action.source.kind} {action.source.reference}, risk {action.risk}, undo {action.undo_class}"
    )
    return NoticeStep(action=line(f"{action.type} on {action.target}"), details=line(details))
