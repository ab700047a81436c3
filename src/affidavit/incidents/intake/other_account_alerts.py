"""Refuses alerts about an account or region that cannot be asked from here."""

from collections.abc import Callable
from dataclasses import dataclass

from affidavit.errors import InputRefused
from affidavit.incidents.incident import Incident


class ForeignAlert(InputRefused):
    """The alert is about another account or region, where a function of the same name is another function."""


@dataclass(frozen=True, kw_only=True)
class Home:
    """The account and region that this installation can ask. What is empty is not compared."""

    region: str = ""
    account: Callable[[], str] = lambda: ""
    """Called only for new incidents, because it may ask AWS."""

    def check(self, incident: Incident) -> None:
        """Raises ForeignAlert."""
        self._compare("region", incident.region, self.region, incident)
        if incident.account:
            self._compare("account", incident.account, self.account(), incident)

    def _compare(self, what: str, theirs: str, ours: str, incident: Incident) -> None:
        if theirs and ours and theirs != ours:
            raise ForeignAlert(
                f"the alert is about {incident.subject} in {what} {theirs}, and only {what} {ours} can be asked here",
                hint=f"send it to the supervisor of that {what}; what has the same name here is something else",
            )
