"""Tells people how an incident ended: once a channel, or again after a crash. A notice never harms the incident.

The wish to tell is stored in the same write as the end. Whoever ended the incident tells at once; the watchdog finds
what was not told. Each channel has its own state, so one that fails repeats no other.
"""

from dataclasses import dataclass
from datetime import timedelta

from affidavit.incidents.incident import IncidentId
from affidavit.incidents.notices.channel import Channel
from affidavit.incidents.notices.incident_notice import PLAIN, NoticeStyle, notice_of
from affidavit.incidents.notices.sent_notices import ToldState, ToldStates
from affidavit.incidents.store.incident_leases import IncidentStates
from affidavit.incidents.store.state import IncidentState
from affidavit.incidents.store.stored_diagnoses import IncidentContexts
from affidavit.incidents.telemetry import Telemetry
from affidavit.ports.clock import Clock
from affidavit.ports.notice_record import Notice
from affidavit.ports.notifier import AskedToWait

# At one try a round of the watchdog these are two hours: a channel that takes nothing for so long is not coming back.
MOST_TRIES = 24
# Rounds in which a full minute or an asked-for pause put a notice off count as well: a day of them is enough.
MOST_ROUNDS = 288
LONGEST_WAIT = timedelta(hours=1)


@dataclass(frozen=True, kw_only=True)
class People:
    """Without a channel nobody is told."""

    states: IncidentStates
    contexts: IncidentContexts
    telemetry: Telemetry
    clock: Clock
    channels: tuple[Channel, ...] = ()
    style: NoticeStyle = PLAIN

    def tell(self, incident_id: IncidentId) -> bool:
        """Whether a notice went out. Never raises."""
        try:
            return bool(self.channels) and self._tell(incident_id)
        except Exception as error:  # noqa: BLE001 - a notice that fails must not fail what it is about
            self._failed(incident_id, "all", error)
            return False

    def _tell(self, incident_id: IncidentId) -> bool:
        seen = self.states.get_state(incident_id)
        claimed = None if seen is None else self.states.claim_notice(seen)
        if claimed is None:
            return False
        if claimed.notices > MOST_ROUNDS:
            self._give_up(claimed, "all")
            self.states.note_told(claimed)
            return False
        notice = notice_of(claimed, self.contexts.get_context(incident_id), self.style)
        outcomes = [self._through(channel, claimed, notice) for channel in self.channels]
        if all(told.is_settled for told, _ in outcomes):
            self.states.note_told(claimed)
        return any(was_sent for _, was_sent in outcomes)

    def _through(self, channel: Channel, claimed: IncidentState, notice: Notice) -> tuple[ToldState, bool]:
        """Where this channel stands now, and whether a notice went out."""
        told = self._told.of(claimed.incident_id, channel, epoch=claimed.epoch)
        if told.is_settled or told.not_before > self.clock.now().timestamp():
            return told, False
        after, was_sent = self._tried(channel, claimed, notice, told)
        if not after.is_settled and after.tries >= MOST_TRIES:
            self._give_up(claimed, channel.name)
            after = after.settled()
        self._told.keep(claimed.incident_id, channel, after)
        return after, was_sent

    def _tried(
        self, channel: Channel, claimed: IncidentState, notice: Notice, told: ToldState
    ) -> tuple[ToldState, bool]:
        try:
            if not channel.takes(notice):
                return told.settled(), False
            if not self._told.has_room(channel):
                return told.put_off(self._told.next_minute().timestamp()), False
            return told.settled(channel.notifier.notify(notice, earlier=told.message)), True
        except AskedToWait as pause:
            self._failed(claimed.incident_id, channel.name, pause)
            wait = min(pause.seconds, LONGEST_WAIT.total_seconds())
            return told.tried(not_before=self.clock.now().timestamp() + wait), False
        except Exception as error:  # noqa: BLE001 - one channel must not keep the others from their notice
            self._failed(claimed.incident_id, channel.name, error)
            return told.tried(), False

    def _failed(self, incident_id: IncidentId, channel: str, error: Exception) -> None:
        message = f"{type(error).__name__}: {error}"
        self.telemetry.log("notice_failed", incident_id=incident_id, channel=channel, message=message)
        self.telemetry.count(NoticesFailed=1)

    def _give_up(self, claimed: IncidentState, channel: str) -> None:
        self.telemetry.log("notice_given_up", incident_id=claimed.incident_id, channel=channel, rounds=claimed.notices)
        self.telemetry.count(NoticesLost=1)

    @property
    def _told(self) -> ToldStates:
        return ToldStates(self.states.table, self.clock)
