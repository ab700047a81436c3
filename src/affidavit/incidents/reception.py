"""Takes alerts in without waiting for their investigation: the incident is stored, and somebody else runs it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from affidavit.incidents.delivery_outcome import Handled
from affidavit.incidents.store.state import IncidentState, Lease
from affidavit.incidents.supervisor import Supervisor


def _left_to_the_watchdog(_: Lease) -> None:
    """Its first lease runs out after a minute, and the next round starts it."""


@dataclass(frozen=True, kw_only=True)
class Reception(Supervisor):
    """A supervisor whose incidents are only opened. `start` is told of each; when it dies, the watchdog runs it."""

    start: Callable[[Lease], None] = field(default=_left_to_the_watchdog)

    def give_up(self, seen: IncidentState) -> bool:
        """Never: the watchdog closes what killed its last worker, and it has the channels to tell so."""
        return False

    def run(self, lease: Lease) -> Handled:
        self.start(lease)
        return Handled.STORED
