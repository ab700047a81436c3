"""One way to tell people, and which notices go that way."""

from dataclasses import dataclass
from enum import StrEnum

from affidavit.evidence.diagnosis import IncidentSeverity
from affidavit.incidents.store.state import Status
from affidavit.ports.notice_record import Notice
from affidavit.ports.notifier import Notifier

_FROM_WORST = tuple(IncidentSeverity)


class ChannelName(StrEnum):
    """Told-state is stored under these names, so none is ever renamed."""

    SNS = "sns"
    SLACK_WEBHOOK = "slack-webhook"
    SLACK = "slack"
    TEAMS = "teams"
    PAGERDUTY = "pagerduty"
    WEBHOOK = "webhook"
    GITHUB = "github"


@dataclass(frozen=True, kw_only=True, slots=True)
class NoticeFilter:
    """Without a diagnosis nobody knows how severe it is, so no floor holds such a notice back; `states` can."""

    floor: IncidentSeverity = IncidentSeverity.LOW
    states: frozenset[Status] | None = None

    def admits(self, notice: Notice) -> bool:
        if notice.is_test:
            return True
        if self.states is not None and notice.state not in self.states:
            return False
        return notice.severity is None or _FROM_WORST.index(notice.severity) <= _FROM_WORST.index(self.floor)


@dataclass(frozen=True, kw_only=True, slots=True)
class Channel:
    name: ChannelName
    notifier: Notifier
    passes: NoticeFilter = NoticeFilter()
    per_minute: int = 10

    def takes(self, notice: Notice) -> bool:
        return self.passes.admits(notice) and self.notifier.takes(notice)
