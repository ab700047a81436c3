"""The kill switch and the freeze: asked again at every boundary, from the settings and from the table."""

from collections.abc import Callable
from dataclasses import dataclass

from affidavit.errors import Conflict
from affidavit.ports.clock import Clock
from affidavit.ports.table import Delete, Key, Put, Table
from affidavit.settings import Settings, Switch

_KEY = Key(pk="remediation#freeze", sk="freeze")


class RemediationStopped(Conflict):
    """Switched off or frozen. Nothing more is called."""


@dataclass(frozen=True, kw_only=True)
class KillSwitch:
    """`settings` reads them anew each time: a person who turns repairs off does not wait for a restart."""

    table: Table
    clock: Clock
    settings: Callable[[], Settings]

    def check(self) -> None:
        """Raises RemediationStopped."""
        settings = self.settings()
        if settings.remediation is not Switch.ON:
            raise RemediationStopped("repairs are switched off", hint="REMEDIATION=on allows them; the default is off")
        if settings.remediation_freeze:
            raise RemediationStopped(
                "repairs are frozen by REMEDIATION_FREEZE", hint="unset it when the freeze is over"
            )
        frozen = self.table.get(_KEY)
        if frozen is not None:
            raise RemediationStopped(
                f"repairs are frozen since {frozen.get('at')} by {frozen.get('by')}", hint="affidavit remedy thaw"
            )

    def freeze(self, by: str) -> None:
        """Stops what runs, too, at its next boundary."""
        at = f"{self.clock.now():%Y-%m-%d %H:%M:%S} UTC"
        self.table.write(Put(item={"pk": _KEY.pk, "sk": _KEY.sk, "by": by, "at": at}))

    def thaw(self) -> None:
        self.table.write(Delete(key=_KEY))
