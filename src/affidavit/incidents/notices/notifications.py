"""Tells people how an incident ended: once, or again after a crash. A notice that fails never harms the incident.

The wish to tell is stored in the same write as the end. Whoever ended the incident tells at once; the watchdog finds
what was not told. Nothing that goes wrong here touches the incident itself.
"""

from dataclasses import dataclass

from affidavit.incidents.incident import IncidentId
from affidavit.incidents.notices.notice import notice_of
from affidavit.incidents.store.context import IncidentContexts
from affidavit.incidents.store.incident_leases import IncidentStates
from affidavit.incidents.store.state import IncidentState
from affidavit.incidents.telemetry import Telemetry
from affidavit.ports.notifier import Notifier

# At one try a round of the watchdog these are two hours: a topic that takes nothing for so long is not coming back.
MOST_TRIES = 24


@dataclass(frozen=True, kw_only=True)
class People:
    """Without a notifier nobody is told."""

    states: IncidentStates
    contexts: IncidentContexts
    telemetry: Telemetry
    notifier: Notifier | None = None

    def tell(self, incident_id: IncidentId) -> bool:
        """Whether a notice went out. Never raises."""
        try:
            return self.notifier is not None and self._tell(incident_id, self.notifier)
        except Exception as error:  # noqa: BLE001 - a notice that fails must not fail what it is about
            self.telemetry.log("notice_failed", incident_id=incident_id, message=f"{type(error).__name__}: {error}")
            self.telemetry.count(NoticesFailed=1)
            return False

    def _tell(self, incident_id: IncidentId, notifier: Notifier) -> bool:
        seen = self.states.get_state(incident_id)
        claimed = None if seen is None else self.states.claim_notice(seen)
        if claimed is None:
            return False
        if claimed.notices > MOST_TRIES:
            self._give_up(claimed)
            return False
        notice = notice_of(claimed, self.contexts.get_context(incident_id))
        notifier.notify(notice.subject, notice.message, key=notice.key)
        self.states.note_told(claimed)
        return True

    def _give_up(self, claimed: IncidentState) -> None:
        self.states.note_told(claimed)
        self.telemetry.log("notice_given_up", incident_id=claimed.incident.incident_id, tries=claimed.notices - 1)
        self.telemetry.count(NoticesLost=1)
